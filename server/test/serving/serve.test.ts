import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { newMasterKeyText } from '../../src/keys/master-key.ts'
import { certificate } from '../rig/certificates.ts'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, mainFile, noPlainUser, Program, type Result, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'
import { Flight, outcome, refusesConnections } from './flight.ts'

describe('serve with incomplete or wrong settings', () => {
  const site = new Site()
  after(() => site.remove())

  const { cert, key, privateKey } = certificate('localhost')
  const certFile = site.file('cert.pem', cert)
  const keyFile = site.file('key.pem', key)
  const otherKeyFile = site.file('other-key.pem', certificate('localhost').key)
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const rsaKeyFile = site.file('rsa-key.pem', rsa.export({ type: 'pkcs8', format: 'pem' }))
  const locked = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a passphrase' } as const
  const lockedKeyFiles = (['pkcs8', 'sec1'] as const).map(type =>
    site.file(`locked-${type}.pem`, privateKey.export({ type, ...locked })),
  )
  const brokenCaFile = site.file('broken-ca.pem', cert + cert.replace('MII', 'MAA'))
  const garbage = site.file('garbage.pem', 'garbage\n')
  const openKey = join(site.path, 'open.key')
  createMasterKeyFile(openKey)
  chmodSync(openKey, 0o644)
  const badMasterKey = 'strongroom-master-key-1:c2hvcnQ='
  const badConfig = site.file('bad.json', JSON.stringify({ masterKey: badMasterKey }))

  const { data, masterKeyFile } = site
  const fileProvider = ['--key-provider', 'file', '--master-key-file', masterKeyFile]
  const cases: {
    name: string
    args?: string[]
    env?: Record<string, string>
    code?: 1 | 2
    says: RegExp
    absent?: string
  }[] = [
    { name: 'no settings', says: /storage is not configured: set --data or STRONGROOM_DATA to a folder/ },
    { name: 'a key provider but no storage', args: fileProvider, says: /storage is not configured/ },
    {
      name: 'storage but no key provider',
      args: ['--data', data],
      says: /no key provider is configured: set --key-provider file \(STRONGROOM_KEY_PROVIDER\)/,
    },
    {
      name: 'storage but no key provider, set by variables',
      env: { STRONGROOM_DATA: data },
      says: /no key provider is configured/,
    },
    {
      name: 'a master key but no key provider chosen',
      args: ['--data', data],
      env: { STRONGROOM_MASTER_KEY: newMasterKeyText() },
      says: /no key provider is configured/,
    },
    {
      name: 'the provider file without its file',
      args: ['--data', data, '--key-provider', 'file'],
      says: /the key provider file needs --master-key-file or STRONGROOM_MASTER_KEY_FILE/,
    },
    {
      name: 'the provider file with a missing file',
      args: ['--data', data, '--key-provider', 'file', '--master-key-file', '/nowhere.key'],
      code: 1,
      says: /the master key file \/nowhere\.key does not exist: strongroom master-key --master-key-file \/nowhere\.key makes one; for a vault that exists, restore it from your backup$/m,
    },
    {
      name: 'the provider file with a file that others can read',
      args: ['--data', data, '--key-provider', 'file', '--master-key-file', openKey],
      code: 1,
      says: /is open to others: run chmod 600 /,
    },
    {
      name: 'the provider file with a file that holds something else',
      args: ['--data', data, '--key-provider', 'file', '--master-key-file', garbage],
      code: 1,
      says: /does not hold a master key/,
    },
    {
      name: 'the provider env without its key',
      args: ['--data', data, '--key-provider', 'env'],
      says: /the key provider env needs STRONGROOM_MASTER_KEY/,
    },
    {
      name: 'the provider env with a key that is too short',
      args: ['--data', data, '--key-provider', 'env'],
      env: { STRONGROOM_MASTER_KEY: badMasterKey },
      code: 1,
      says: /STRONGROOM_MASTER_KEY does not hold a master key/,
      absent: 'c2hvcnQ',
    },
    {
      name: 'the provider env with a key in the config file that is too short',
      args: ['--data', data, '--key-provider', 'env', '--config', badConfig],
      code: 1,
      says: /: masterKey in \S*bad\.json does not hold a master key/,
      absent: 'c2hvcnQ',
    },
    {
      name: 'a TLS certificate without a key',
      args: [...site.vault, '--tls-cert', certFile],
      says: /TLS has no private key: set --tls-key or STRONGROOM_TLS_KEY/,
    },
    {
      name: 'a TLS key without a certificate',
      args: [...site.vault, '--tls-key', keyFile],
      says: /TLS has no certificate: set --tls-cert or STRONGROOM_TLS_CERT/,
    },
    {
      name: 'a client CA without TLS',
      args: [...site.vault, '--tls-client-ca', certFile],
      says: /TLS has no certificate/,
    },
    {
      name: 'a missing TLS certificate file',
      args: [...site.vault, '--tls-cert', '/nowhere.pem', '--tls-key', keyFile],
      says: /the TLS file \/nowhere\.pem does not exist$/m,
    },
    {
      name: 'a missing TLS key file',
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', '/nowhere.pem'],
      says: /the TLS file \/nowhere\.pem does not exist$/m,
    },
    {
      name: 'a missing client CA file',
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', keyFile, '--tls-client-ca', '/nowhere.pem'],
      says: /the TLS file \/nowhere\.pem does not exist$/m,
    },
    {
      name: 'a TLS certificate file that holds none',
      args: [...site.vault, '--tls-cert', garbage, '--tls-key', keyFile],
      says: /do not hold a certificate and its key/,
    },
    {
      name: 'the TLS key of another certificate',
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', otherKeyFile],
      says: /do not hold a certificate and its key/,
    },
    {
      name: 'a TLS key of a different kind than its certificate',
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', rsaKeyFile],
      says: /cert\.pem, \S+rsa-key\.pem do not hold a certificate and its key/,
    },
    ...lockedKeyFiles.map(file => ({
      name: `a TLS key with a passphrase (${basename(file)})`,
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', file],
      says: /the TLS key \S+locked-\w+\.pem is protected by a passphrase, which is not supported: give a key without one$/m,
    })),
    {
      name: 'a client CA file that holds no certificate',
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', keyFile, '--tls-client-ca', keyFile],
      says: /the TLS file \S+key\.pem does not hold certificates/,
    },
    {
      name: 'a client CA file with one broken certificate',
      args: [...site.vault, '--tls-cert', certFile, '--tls-key', keyFile, '--tls-client-ca', brokenCaFile],
      says: /the TLS file \S+broken-ca\.pem does not hold certificates/,
    },
  ]
  for (const { name, args = [], env = {}, code = 2, says, absent } of cases)
    test(`given ${name}, serve does not start, says why in one line and makes nothing (C35.1)`, async () => {
      const result = await site.runRefused(['serve', '--port', '0', ...args], env)
      assertRefused(result, code, says)
      assert.ok(!existsSync(data))
      if (absent !== undefined) assertAbsent({ stderr: result.stderr }, [absent])
    })
})

describe('serve on storage that cannot be used', () => {
  const site = new Site()
  after(() => site.remove())
  const serveOn = (data: string, ...more: string[]): Promise<Result> =>
    site.run(['serve', '--port', '0', ...site.vault, '--data', data, ...more])

  test('a data folder that is a file or lies inside one is named (C35.1)', async () => {
    const file = site.file('file', '')
    assertRefused(await serveOn(file), 2, /the data folder \S+file cannot be used: it is not a folder/)
    assertRefused(
      await serveOn(join(file, 'x')),
      2,
      /the data folder \S+x cannot be used: it is not a folder/,
    )
  })

  test('a data folder that this user may not write to is named (C35.1)', {
    skip: inShortRun || noPlainUser(),
  }, async () => {
    const closed = join(site.path, 'closed')
    mkdirSync(closed)
    chmodSync(site.path, 0o755)
    chmodSync(closed, 0o555)
    const result = await site.runPlainly(
      ['serve', '--port', '0', '--data', closed, '--key-provider', 'env'],
      { STRONGROOM_MASTER_KEY: newMasterKeyText() },
    )
    chmodSync(site.path, 0o700)
    assertRefused(result, 2, /closed cannot be used: this user may not/)
  })

  test('a file that is not a vault is left alone (C35.1)', async () => {
    const data = join(site.path, 'stranger')
    mkdirSync(data)
    const file = site.file(
      'stranger/vault.db',
      'no database, but long enough to be taken for one\n'.repeat(50),
    )
    const before = readFileSync(file)
    assertRefused(await serveOn(data), 1, /vault\.db cannot be opened: file is not a database/)
    assert.deepEqual(readFileSync(file), before)
  })

  test('storage that belongs to another master key is not opened (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const data = join(site.path, 'other')
    const other = join(site.path, 'other.key')
    createMasterKeyFile(other)
    for (const command of [['migrate'], ['tenant', 'create', '--name', 'T']])
      assert.equal((await site.run([...command, '--data', data, ...site.keys])).code, 0)
    const result = await serveOn(data, '--master-key-file', other)
    assertRefused(
      result,
      1,
      /does not open with the master key in \S+other\.key: restore the one that belongs/,
    )
  })

  test('an address that does not belong to this machine is named (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const data = join(site.path, 'address')
    await site.run(['migrate', '--data', data])
    const result = await serveOn(data, '--host', '203.0.113.1')
    assertRefused(result, 1, /203\.0\.113\.1 is no address of this machine: set --host/)
  })

  test('a taken port is named, with how to choose another (C35.1)', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const data = join(site.path, 'port')
    await site.run(['migrate', '--data', data])
    const result = await serveOn(data, '--port', String(port))
    taken.close()
    assertRefused(
      result,
      1,
      new RegExp(`port ${port} of 127\\.0\\.0\\.1 is taken: stop what uses it, or add --port ${port + 1}`),
    )
  })
})

describe('a running server', () => {
  const site = new Site()
  const masterKey = newMasterKeyText()
  const provider = ['--key-provider', 'env']
  const env = { STRONGROOM_MASTER_KEY: masterKey }
  let server: Program & { url: string }
  let keys: Record<string, string>
  before(async () => {
    server = await site.serve([...provider, '--log-level', 'trace'], env)
    const made = await site.run(
      ['tenant', 'create', '--name', 'T', '--json', ...site.vault, ...provider],
      env,
    )
    keys = JSON.parse(made.stdout)
  })
  after(() => site.remove())

  test('it answers with explicit storage and provider (C35.1, C36.1, C36.2)', async () => {
    assert.equal((await call(server.url, 'GET', '/health', '')).status, 200)
    assert.equal((await call(server.url, 'GET', '/ready', '')).status, 200)
  })

  test('every job is done as soon as it has started, which catches up after a pause (C35.1)', {
    timeout: 20_000,
  }, async () => {
    const jobs = ['sweep-transients', 'note-key-use', 'check-master-key', 'rotate-data-keys']
    const alone = ['sweep-expired', 'index-reports', 'sweep-results', 'purge-dead-tenants', 'flush-activity']
    for (const job of [...jobs, ...alone])
      await server.line(
        'stderr',
        line => line.includes(`"job":"${job}"`) && line.includes('"msg":"job done"'),
      )
  })

  test('it prints no key, neither the master key nor an API key, accepted or refused, even at log level trace (C35.2)', async () => {
    const { api_key = '', private_api_key = '', management_api_key = '' } = keys
    assert.equal((await call(server.url, 'POST', '/tokens', api_key, { type: 'token', data: 1 })).status, 201)
    assert.equal((await call(server.url, 'GET', '/tokens', private_api_key)).status, 200)
    assert.equal((await call(server.url, 'GET', '/tenants/self', management_api_key)).status, 200)
    assert.equal((await call(server.url, 'GET', '/tokens', `${private_api_key}x`)).status, 401)
    await server.line('stderr', line => line.includes('"status":401'))
    assert.equal(server.stdout, '')
    assertAbsent({ stderr: server.stderr }, [
      ...[api_key, private_api_key, management_api_key, 'key_'],
      ...[masterKey, masterKey.slice(masterKey.indexOf(':') + 1)],
    ])
  })

  test('the process list shows no secret (C35.2)', t => {
    if (!existsSync(`/proc/${server.pid}/cmdline`)) return t.skip('this system has no /proc')
    const line = readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')
    assert.match(line, /serve/)
    assertAbsent({ line }, ['strongroom-master-key', masterKey.slice(masterKey.indexOf(':') + 1), 'key_'])
  })

  test('SIGUSR1 and SIGUSR2, as log rotation sends them, open no debugger and end nothing (C35.2)', async () => {
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) server.child.kill(signal)
    for (let n = 0; n < 5; n++) assert.equal((await call(server.url, 'GET', '/health', '')).status, 200)
    assert.equal(server.child.exitCode, null)
    assertAbsent({ stderr: server.stderr }, ['Debugger', 'inspector'])
  })

  test('SIGHUP does not stop a server without certificates (C35.1)', async () => {
    server.child.kill('SIGHUP')
    assert.equal((await call(server.url, 'GET', '/health', '')).status, 200)
    assert.equal(server.child.exitCode, null)
  })

  test('a log that nobody reads any more does not stop it (C35.1)', async () => {
    server.child.stderr?.destroy()
    for (let n = 0; n < 5; n++)
      assert.equal((await call(server.url, 'GET', '/tokens', keys.private_api_key ?? '')).status, 200)
    server.child.kill('SIGTERM')
    assert.equal((await server.exited).code, 0)
  })
})

describe('the files of a vault', () => {
  const site = new Site()
  after(() => site.remove())

  test('are closed to others from the start, whatever the umask and the mode of the folder (C35.1)', async () => {
    const data = join(site.path, 'shared')
    mkdirSync(data, { mode: 0o755 })
    const program = new Program(
      '/bin/sh',
      ['-c', 'umask 000; exec "$@"', 'sh', process.execPath, mainFile, 'serve', '--port', '0'].concat(
        site.vault,
        ['--data', data],
      ),
      { cwd: site.path, env: site.environment() },
    )
    await program.logged('listening')
    const modes = Object.fromEntries(
      readdirSync(data).map(name => [name, statSync(join(data, name)).mode & 0o777]),
    )
    program.child.kill('SIGTERM')
    await program.exited
    assert.deepEqual(modes, { 'vault.db': 0o600, 'vault.db-shm': 0o600, 'vault.db-wal': 0o600 })
  })
})

describe('serve when told to stop', { timeout: 120_000 }, () => {
  const site = new Site()
  let apiKey = ''
  before(async () => {
    await site.run(['migrate', ...site.vault])
    apiKey = (await site.json('tenant', 'create', '--name', 'T')).api_key
  })
  after(() => site.remove())

  const body = JSON.stringify({ type: 'token', data: 'in flight' })

  const createInFlight = (url: string): Promise<Flight> => Flight.ofCreate(url, apiKey, body.length)

  test('requests that arrived before the stop are answered, even on connections not yet accepted (C35.1)', async () => {
    const server = await site.serve()
    server.child.kill('SIGSTOP')
    const flights = Array.from({ length: 5 }, () => new Flight(server.url))
    for (const { socket } of flights) {
      await once(socket, 'connect')
      await new Promise(resolve =>
        socket.write(
          `POST /tokens HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${apiKey}\r\nContent-Type: application/json\r\n` +
            `Content-Length: ${body.length}\r\n\r\n${body}`,
          resolve,
        ),
      )
    }
    server.child.kill('SIGTERM')
    server.child.kill('SIGCONT')
    // A machine that is busy with other things may make one wait too long, which is an answer too.
    for (const flight of flights) {
      await flight.received('\r\n\r\n')
      assert.match(flight.text, /^HTTP\/1\.1 (201|503) /)
    }
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`on ${signal}, requests in flight are answered, new connections are refused, idle ones are closed, and the exit code is 0 (C35.1)`, {
      skip: signal === 'SIGINT' && inShortRun,
    }, async () => {
      const server = await site.serve(['--drain-timeout', '3600'])
      const flight = await createInFlight(server.url)
      const idle = new Flight(server.url)
      idle.socket.write('GET /health HTTP/1.1\r\nHost: vault\r\n\r\n')
      await idle.received('HTTP/1.1 200 OK')
      server.child.kill(signal)
      await server.logged('draining')
      await refusesConnections(server.url)
      await idle.closed
      flight.socket.write(body)
      await flight.received('HTTP/1.1 201 Created')
      // The connection could be kept alive, but not by a server that is stopping.
      await flight.closed
      assert.deepEqual(await outcome(server), { code: 0, signal: null })
    })

  test('a request that never ends, half a header and a connection that sends nothing are cut off at the timeout, and the exit code is 0 (C35.1)', async () => {
    const server = await site.serve(['--drain-timeout', '0.2'])
    const [silent, half] = [new Flight(server.url), new Flight(server.url)]
    for (const { socket } of [silent, half]) await once(socket, 'connect')
    half.socket.write('GET /health HTTP/1.1\r\nHo')
    // Heard later, so the server has seen the other two.
    const flight = await createInFlight(server.url)
    server.child.kill('SIGTERM')
    for (const { closed } of [flight, silent, half]) await closed
    assert.ok(!flight.text.includes('HTTP/1.1 201'))
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })

  test('a connection that sends nothing to a TLS server is cut off at the timeout too (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const { cert, key } = certificate('localhost')
    const tls = ['--tls-cert', site.file('cert.pem', cert), '--tls-key', site.file('key.pem', key)]
    const server = await site.serve(['--drain-timeout', '0.2', ...tls])
    const silent = new Flight(server.url)
    await once(silent.socket, 'connect')
    server.child.kill('SIGTERM')
    await silent.closed
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })

  for (const [first, second] of [
    ['SIGINT', 'SIGINT'],
    ['SIGTERM', 'SIGINT'],
  ] as const)
    test(`on ${first} and then ${second}, it ends at once (C35.1)`, {
      skip: first === 'SIGINT' && inShortRun,
    }, async () => {
      const server = await site.serve(['--drain-timeout', '3600'])
      await createInFlight(server.url)
      server.child.kill(first)
      await server.logged('draining')
      server.child.kill(second)
      assert.deepEqual(await outcome(server), { code: null, signal: second })
    })
})
