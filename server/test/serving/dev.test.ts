import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, type Program, Site } from '../rig/program.ts'

const card = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 },
}
const mode = (path: string): number => statSync(path).mode & 0o777
const answers = (line: string): boolean => line.startsWith('Strongroom answers at')

describe('strongroom dev', () => {
  const sites: Site[] = []
  after(async () => {
    for (const site of sites) await site.remove()
  })
  /** An empty site in which `dev` runs on a free port. */
  const newSite = (): Site => {
    const site = new Site()
    sites.push(site)
    return site
  }
  const settings = (site: Site) => ({ STRONGROOM_DATA: site.data, STRONGROOM_PORT: '0' })
  const start = async (site: Site): Promise<Program> => {
    const program = site.start(['dev'], settings(site))
    await program.line('stdout', answers)
    return program
  }
  /** The vault that most tests use in turn. */
  const home = newSite()
  let first: Program
  let newest: Program
  const startAtHome = async (): Promise<Program> => {
    newest = await start(home)
    return newest
  }
  before(async () => {
    assert.ok(!existsSync(home.data))
    first = await startAtHome()
  })
  const stop = async (program: Program, signal: NodeJS.Signals = 'SIGTERM') => {
    program.child.kill(signal)
    return program.exited
  }
  const files = (site: Site) => ({
    keys: join(site.data, 'dev-keys.json'),
    master: join(site.data, 'master.key'),
  })
  const readKeys = (site: Site): StarterKeys => JSON.parse(readFileSync(files(site).keys, 'utf8'))

  test('`npm start` runs strongroom dev (C34.1)', () => {
    const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
    assert.equal(manifest.scripts.start, 'node --max-semi-space-size=16 server/bin/strongroom.js dev')
  })

  test('in an empty folder it makes a master key, a tenant and three keys (C34.1, C34.3, C34.4, C34.6)', async () => {
    const text = readFileSync(files(home).keys, 'utf8')
    const keys = readKeys(home)
    assert.deepEqual(Object.keys(keys), [
      'base_url',
      'tenant_id',
      'api_key',
      'private_api_key',
      'management_api_key',
    ])
    assert.match(keys.api_key, /^key_general_/)
    assert.match(keys.private_api_key, /^key_private_/)
    assert.match(keys.management_api_key, /^key_management_/)
    assert.match(keys.base_url, /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.ok(text.endsWith('}\n'))
    for (const path of [...Object.values(files(home)), join(home.data, 'vault.db')])
      assert.equal(mode(path), 0o600, path)
    assert.equal(mode(home.data), 0o700)
    assert.ok(!existsSync(`${files(home).keys}.new`))

    const own = async (key: string) => (await call(keys.base_url, 'GET', '/applications/key', key)).body
    const [general, priv, management] = await Promise.all(
      [keys.api_key, keys.private_api_key, keys.management_api_key].map(own),
    )
    assert.deepEqual([general.type, general.permissions], ['private', ['token:create', 'token:update']])
    assert.equal(priv.type, 'private')
    assert.deepEqual(
      priv.rules.map((rule: Record<string, unknown>) => [rule.container, rule.transform, rule.permissions]),
      [['/', 'reveal', ['token:read', 'token:delete', 'token:search']]],
    )
    assert.equal(management.type, 'management')
    const tenant = await call(keys.base_url, 'GET', '/tenants/self', keys.management_api_key)
    assert.deepEqual([tenant.status, tenant.body.id], [200, keys.tenant_id])
  })

  test('the management key reads the log (L9.2)', async () => {
    const keys = readKeys(home)
    const { status, body } = await call(keys.base_url, 'GET', '/logs', keys.management_api_key)
    assert.equal(status, 200)
    assert.ok(body.data.some(({ operation }: { operation: string }) => operation === 'tenant create'))
  })

  test('it prints the keys, and a curl line that works as pasted (C34.5)', async () => {
    const line = (await first.line('stdout', text => text.trimStart().startsWith('curl '))).trim()
    const keys = readKeys(home)
    const notes: Record<string, string> = {
      [keys.api_key]: 'creates and updates',
      [keys.private_api_key]: 'reads, deletes and searches',
      [keys.management_api_key]: 'manages the tenant, applications and keys',
    }
    for (const [key, note] of Object.entries(notes)) assert.ok(first.stdout.includes(`${key}   ${note}\n`))
    assert.ok(first.stdout.includes(files(home).keys), 'and where they are kept')
    const hasCurl = spawnSync('curl', ['--version']).status === 0
    const { code, stdout } = hasCurl ? await home.shell(line) : await sendAsCurl(line)
    assert.equal(code, 0)
    const token = JSON.parse(stdout)
    assert.equal(token.data.number, 'XXXXXXXXXXXX4242')
    const read = await call(keys.base_url, 'GET', `/tokens/${token.id}`, keys.private_api_key)
    assert.equal(read.body.data.number, '4242424242424242')
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`on ${signal}, requests in flight are answered and the exit code is 0 (C34.7)`, {
      skip: inShortRun,
    }, async () => {
      const program = newest
      const { base_url, api_key, private_api_key } = readKeys(home)
      const body = JSON.stringify(card)
      const { hostname, port } = new URL(base_url)
      const socket = connect(Number(port), hostname)
      let received = ''
      const until = (text: string): Promise<void> =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (received.includes(text)) resolve()
          }
          socket.on('data', look)
          socket.on('close', () => reject(new Error(`closed after: ${received}`)))
          look()
        })
      socket.setEncoding('utf8').on('data', chunk => {
        received += chunk
      })
      socket.write(
        [
          'POST /tokens HTTP/1.1',
          `Host: ${hostname}`,
          `SVC-API-KEY: ${api_key}`,
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
          'Expect: 100-continue',
          '\r\n',
        ].join('\r\n'),
      )
      // The vault now has the request and waits for its body.
      await until('100 Continue')
      program.child.kill(signal)
      // New connections are no longer accepted: the signal has arrived.
      await refusesConnections(Number(port), hostname)
      socket.write(body)
      await until('201 Created')
      assert.equal((await program.exited).code, 0)

      const { id } = JSON.parse(received.slice(received.indexOf('{')))
      await startAtHome()
      const read = await call(readKeys(home).base_url, 'GET', `/tokens/${id}`, private_api_key)
      assert.equal(read.status, 200, 'what was answered is there')
    })

  test('without the right master key for the folder, it says so and stops (C34.3, C34.7)', async () => {
    await stop(newest)
    const { master } = files(home)
    const before = readFileSync(join(home.data, 'vault.db'))
    const refused = async (says: RegExp): Promise<void> =>
      assertRefused(await home.run(['dev'], settings(home)), 1, says)

    renameSync(master, `${master}.lost`)
    await refused(/master\.key.*restore/)
    assert.ok(!existsSync(master), 'no new one that would open nothing')
    writeFileSync(master, readFileSync(home.masterKeyFile), { mode: 0o600 })
    await refused(/does not open.*restore/)
    writeFileSync(master, 'not a key', { mode: 0o600 })
    await refused(/does not hold a master key/)
    renameSync(`${master}.lost`, master)
    chmodSync(master, 0o644)
    await refused(/chmod 600/)
    chmodSync(master, 0o600)
    assert.deepEqual(readFileSync(join(home.data, 'vault.db')), before)
    await startAtHome()
    const { base_url, private_api_key } = readKeys(home)
    assert.equal((await call(base_url, 'GET', '/tokens', private_api_key)).status, 200)
  })

  test('keys that a crash left without a tenant are replaced by keys that work (C34.4, C34.6)', {
    skip: inShortRun,
  }, async () => {
    await stop(newest)
    const stale = readKeys(home)
    // What a crash right before the tenant's commit leaves: keys in their file, nothing in storage.
    for (const name of ['vault.db', 'vault.db-wal', 'vault.db-shm'])
      rmSync(join(home.data, name), { force: true })
    await startAtHome()
    const keys = readKeys(home)
    assert.notEqual(keys.api_key, stale.api_key)
    assert.equal((await call(keys.base_url, 'POST', '/tokens', keys.api_key, card)).status, 201)
    assert.equal((await call(keys.base_url, 'POST', '/tokens', stale.api_key, card)).status, 401)
  })

  test('where the keys cannot be saved no tenant is made, so that the next start makes one (C34.4, C34.6)', {
    skip: inShortRun,
  }, async () => {
    await stop(newest)
    for (const name of ['vault.db', 'vault.db-wal', 'vault.db-shm'])
      rmSync(join(home.data, name), { force: true })
    rmSync(files(home).keys)
    mkdirSync(files(home).keys)
    const { code, stdout } = await home.run(['dev'], settings(home))
    assert.deepEqual([code, stdout], [1, ''])
    rmdirSync(files(home).keys)
    await startAtHome()
    const keys = readKeys(home)
    assert.equal((await call(keys.base_url, 'POST', '/tokens', keys.api_key, card)).status, 201)
  })

  test('when started again, it keeps everything and prints no key (C34.7)', async () => {
    const before = readKeys(home)
    const master = readFileSync(files(home).master, 'utf8')
    const { body } = await call(before.base_url, 'POST', '/tokens', before.api_key, card)
    const total = async ({ base_url, private_api_key }: StarterKeys): Promise<number> =>
      (await call(base_url, 'GET', '/tokens', private_api_key)).body.pagination.total_items
    const tokens = await total(before)
    assert.equal((await stop(newest)).code, 0)

    const second = await startAtHome()
    const keys = readKeys(home)
    assert.deepEqual({ ...keys, base_url: '' }, { ...before, base_url: '' })
    assert.equal(readFileSync(files(home).master, 'utf8'), master)
    assert.equal(mode(files(home).keys), 0o600)
    assert.ok(second.stdout.includes(keys.base_url))
    assert.ok(!second.stdout.includes('key_'))
    const read = await call(keys.base_url, 'GET', `/tokens/${body.id}`, keys.private_api_key)
    assert.deepEqual(read.body.data, card.data)
    assert.equal(await total(keys), tokens)
    assert.equal((await stop(second, 'SIGINT')).code, 0)

    rmSync(files(home).keys)
    const third = await startAtHome()
    const { port } = new URL(third.stdout.match(/http:[^\s;]+/)?.[0] ?? '')
    assert.match(
      third.stdout,
      /no longer in \S+dev-keys\.json: strongroom key create --data \S+ --tenant \S+ --app <id> makes a new one for an application that strongroom app list --data \S+ --tenant \S+ shows\n$/,
    )
    const again = await call(`http://127.0.0.1:${port}`, 'GET', `/tokens/${body.id}`, keys.private_api_key)
    assert.equal(again.status, 200, 'the keys work, also where their file was taken away')
    assert.ok(!existsSync(files(home).keys))
    await stop(third)

    // It stays so for good: there are no tests at home after this one.
    writeFileSync(files(home).keys, `{ "api_key": ${keys.api_key}`)
    const fourth = await startAtHome()
    assert.match(fourth.stdout, /no longer in \S+dev-keys\.json/)
    assert.ok(!`${fourth.stdout}${fourth.stderr}`.includes(keys.api_key))
  })

  test('the file of the keys is closed to others as soon as it is there, whatever was left before (C34.6)', {
    skip: inShortRun,
  }, async () => {
    const site = newSite()
    /** Loaded before the program, to see the file of the keys while it is written. */
    const watching = site.file(
      'watching.mjs',
      `import fs, { statSync, writeSync } from 'node:fs'
       import { syncBuiltinESMExports } from 'node:module'
       const { renameSync, writeFileSync } = fs
       const tell = (moment, path) =>
         String(path).includes('dev-keys') && writeSync(1, moment + ' ' + (statSync(path).mode & 0o777).toString(8) + '\\n')
       fs.writeFileSync = (path, ...more) => {
         writeFileSync(path, ...more)
         tell('written', path)
       }
       fs.renameSync = (from, to) => {
         tell('named', from)
         renameSync(from, to)
       }
       syncBuiltinESMExports()`,
    )
    const environment = { ...settings(site), NODE_OPTIONS: `--import ${watching}` }
    const first = site.start(['dev'], environment)
    await first.line('stdout', answers)
    await stop(first)
    assert.match(first.stdout, /^written 600\nnamed 600\nwritten 600\nnamed 600\n/)
    writeFileSync(`${files(site).keys}.new`, '', { mode: 0o644 })
    const second = site.start(['dev'], environment)
    await second.line('stdout', answers)
    await stop(second)
    assert.match(second.stdout, /^written 600\nnamed 600\n/)
    assert.equal(mode(files(site).keys), 0o600)
  })

  test('keys of a tenant that was deleted are not announced while there is another tenant (C34.6)', {
    skip: inShortRun,
  }, async () => {
    const site = newSite()
    await stop(await start(site))
    const { tenant_id } = readKeys(site)
    const dev = ['--data', site.data]
    assert.equal((await site.run(['tenant', 'create', '--name', 'Other', ...dev])).code, 0)
    assert.equal((await site.run(['tenant', 'delete', tenant_id, '--yes', ...dev])).code, 0)
    const before = readFileSync(files(site).keys, 'utf8')
    const program = await start(site)
    assert.match(
      program.stdout,
      /^Strongroom answers at \S+; the tenant of the keys in \S+dev-keys\.json is no longer there: strongroom tenant create --data \S+ --name Development makes a new one\n$/,
    )
    assert.equal(readFileSync(files(site).keys, 'utf8'), before)
    await stop(program)
  })

  test('without STRONGROOM_DATA the folder is .strongroom; it stops when its terminal closes (C34.1)', async () => {
    const site = newSite()
    const program = site.start(['dev'], { STRONGROOM_PORT: '0' })
    await program.line('stdout', answers)
    assert.ok(existsSync(join(site.path, '.strongroom', 'dev-keys.json')))
    program.child.kill('SIGHUP')
    const { code, signal } = await program.exited
    assert.deepEqual({ code, signal }, { code: 0, signal: null })
  })

  for (const [name, value] of [
    ['STRONGROOM_PORT', '65536'],
    ['STRONGROOM_PORT', 'http'],
    ['STRONGROOM_PORT', '-1'],
    ['STRONGROOM_LOG_LEVEL', 'loud'],
    ['STRONGROOM_HEADER_PREFIX', 'a b'],
  ] as const)
    test(`${name}=${value} is refused with exit code 2 before anything is made (C34.2)`, async () => {
      const site = newSite()
      const result = await site.runRefused(['dev'], { ...settings(site), [name]: value })
      assertRefused(result, 2, new RegExp(name))
      assert.ok(!existsSync(site.data))
    })

  test('a taken port is named as the reason, and the next start prints the keys and the curl line (C34.2, C34.5)', {
    skip: inShortRun,
  }, async () => {
    const site = newSite()
    const other = createServer()
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as { port: number }
    const result = await site.run(['dev'], { ...settings(site), STRONGROOM_PORT: String(port) })
    const underNpm = await site.run(['dev'], {
      ...settings(site),
      STRONGROOM_PORT: String(port),
      npm_lifecycle_event: 'start',
    })
    other.close()
    assertRefused(result, 1, /port \d+ of 127\.0\.0\.1 is taken: stop what uses it, or add --port \d+$/m)
    assertRefused(underNpm, 1, new RegExp(`is taken: .*, or run npm start -- --port ${port + 1}$`, 'm'))
    const program = await start(site)
    await program.line('stdout', text => text.trimStart().startsWith('curl '))
    const { base_url, api_key } = readKeys(site)
    assert.ok(program.stdout.includes(api_key))
    assert.equal((await call(base_url, 'POST', '/tokens', api_key, card)).status, 201)
    assert.equal((await stop(program)).code, 0)
  })
})

/** Resolves when the port no longer accepts connections. */
const refusesConnections = async (port: number, host: string): Promise<void> => {
  const isTaken = (): Promise<boolean> =>
    new Promise(resolve => {
      const socket = connect(port, host)
      socket.on('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
  while (await isTaken());
}

/** For machines without curl: the same request, parsed from the line. */
const sendAsCurl = async (line: string): Promise<{ code: number; stdout: string }> => {
  const url = line.match(/curl -s (\S+)/)?.[1] ?? ''
  const headers = [...line.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ])
  const body = line.match(/-d '(.*)'$/)?.[1] ?? ''
  const reply = await fetch(url, { method: 'POST', headers: Object.fromEntries(headers), body })
  return { code: reply.ok ? 0 : 22, stdout: await reply.text() }
}
