import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { warnOfTls } from '../../src/cli/tls-warnings.ts'
import { readConfig } from '../../src/config/config.ts'
import { type Certificate, certificate } from '../rig/certificates.ts'
import { inShortRun } from '../rig/long-run.ts'
import { type Program, Site } from '../rig/program.ts'

const ca = certificate('vault ca')
const clientCa = certificate('client ca')
const rsaKey = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
}).privateKey

/** A new connection, so that the test sees which certificate it got. */
const connectTo = async (
  url: string,
  more: ConnectionOptions & { allowHalfOpen?: boolean } = {},
): Promise<TLSSocket> => {
  const socket = tlsConnect({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
    ca: ca.cert,
    checkServerIdentity: () => undefined,
    ...more,
  })
  await once(socket, 'secureConnect')
  return socket
}

/** The status line of GET /health, or how the server refused: a client learns of that only once it reads. */
const health = (socket: TLSSocket): Promise<string> =>
  new Promise(resolve => {
    socket
      .setEncoding('utf8')
      .once('data', (text: string) => resolve(text.split('\r\n', 1)[0] ?? ''))
      .once('error', (error: NodeJS.ErrnoException) => resolve(`refused: ${error.code}`))
      .once('close', () => resolve('refused: closed'))
      .write('GET /health HTTP/1.1\r\nHost: vault\r\n\r\n')
  })

const nameOf = (socket: TLSSocket): string => String(socket.getPeerCertificate().subject.CN)

const servedName = async (url: string): Promise<string> => {
  const socket = await connectTo(url)
  const name = nameOf(socket)
  socket.destroy()
  return name
}

describe('serve without TLS', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  for (const [name, args] of [
    ['on all addresses', []],
    ['on all addresses, with workers', ['--workers', '2']],
  ] as const)
    test(`${name}, the log warns once that data is in plain text (C35.1)`, {
      skip: args.length > 0 && inShortRun,
    }, async () => {
      const server = await site.serve(['--host', '0.0.0.0', ...args])
      server.child.kill('SIGTERM')
      const { code, stderr } = await server.exited
      assert.equal(code, 0)
      const lines = stderr.split('\n').filter(line => line.includes('plain text'))
      assert.deepEqual(
        lines.map(line => JSON.parse(line).level),
        [40],
      )
    })

  const { cert, key } = certificate('localhost')
  const tls = { 'tls-cert': site.file('cert.pem', cert), 'tls-key': site.file('key.pem', key) }
  // What every server asks once it listens.
  for (const [name, options] of [
    ['on all addresses, but with TLS', { host: '0.0.0.0', ...tls }],
    ['on a loopback address', { host: '127.0.0.1' }],
    ['on localhost', { host: 'localhost' }],
  ] as const)
    test(`${name}, the log has no warning about plain text (C35.1)`, () => {
      const warnings: unknown[] = []
      const silent = (): void => {}
      const log = { isDebug: false, error: silent, info: silent, debug: silent }
      warnOfTls(readConfig({ options, environment: {} }), {
        ...log,
        warn: (...warning) => void warnings.push(warning),
      })
      assert.deepEqual(warnings, [])
    })
})

describe('serve with a certificate that is out of date', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  const dayMs = 86_400_000
  const at = (days: number): Date => new Date(Date.now() + days * dayMs)
  const expired = { from: at(-9), until: at(-1) }
  const early = { from: at(1), until: at(9) }
  const valid = { from: at(-1), until: at(1) }
  const install = (dates: { from: Date; until: Date }): string[] => {
    const { cert, key } = certificate('vault', undefined, dates)
    return ['--tls-cert', site.file('cert.pem', cert), '--tls-key', site.file('key.pem', key)]
  }
  const outOfDate = 'the TLS certificate is out of date: replace it, and send SIGHUP'
  const answers = async (url: string): Promise<void> => {
    const socket = await connectTo(url, { rejectUnauthorized: false })
    assert.equal(await health(socket), 'HTTP/1.1 200 OK')
    socket.destroy()
  }

  for (const [name, workers, first, later] of [
    ['one process', '1', expired, [early, expired]],
    ['two workers', '2', early, [expired, early]],
  ] as const)
    test(`the log warns once of each that comes, at start or by SIGHUP, and of none that cannot be used or is valid; the server answers (${name}) (docs/running.md)`, {
      skip: workers === '2' && inShortRun,
    }, async () => {
      const server = await site.serve([...install(first), '--workers', workers])
      await answers(server.url)
      const renewed = async (times: number): Promise<void> => {
        server.child.kill('SIGHUP')
        await server.logged('TLS certificates renewed', times * Number(workers))
      }
      for (const [index, dates] of later.entries()) {
        install(dates)
        await renewed(index + 1)
        await server.logged(outOfDate, index + 2)
        await answers(server.url)
      }
      install(valid)
      await renewed(3)
      site.file('cert.pem', certificate('vault', undefined, expired).cert)
      server.child.kill('SIGHUP')
      const refusal = 'the new TLS certificates cannot be used; the old ones stay'
      await server.logged(refusal, Number(workers))
      await answers(server.url)
      server.child.kill('SIGTERM')
      const { code, stderr } = await server.exited
      assert.equal(code, 0)
      const warnings = stderr
        .split('\n')
        .filter(line => line.includes('out of date'))
        .map(line => JSON.parse(line))
      const said = (dates: typeof expired): string =>
        dates === expired ? 'expired on ' : 'is not valid until '
      assert.deepEqual(
        warnings.map(({ level, reason }) => [level, reason.replace(/\d{4}-.*/, '')]),
        [first, ...later].map(dates => [40, said(dates)]),
      )
    })
})

describe('serve that gets SIGHUP while it starts', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  /** Loaded into each process before anything else: hangs up before the program is loaded, and when the certificate was read. */
  const hangingUp = {
    NODE_OPTIONS: `--import ${site.file(
      'hanging-up.mjs',
      `import fs from 'node:fs'
       import { registerHooks, syncBuiltinESMExports } from 'node:module'
       const hangUp = () => process.kill(process.pid, 'SIGHUP')
       registerHooks({
         load: (url, context, next) => {
           if (url.endsWith('/cli/main.ts')) hangUp()
           return next(url, context)
         },
       })
       const { copyFileSync, readFileSync } = fs
       let isRead = false
       fs.readFileSync = (path, ...more) => {
         const content = readFileSync(path, ...more)
         if (isRead || !String(path).endsWith('/key.pem')) return content
         isRead = true
         for (const name of ['cert.pem', 'key.pem']) copyFileSync('new-' + name, name)
         hangUp()
         return content
       }
       syncBuiltinESMExports()`,
    )}`,
  }
  for (const count of [1, 2])
    test(`it goes on, and serves the certificate that is there by then (workers: ${count}) (docs/running.md)`, {
      skip: inShortRun,
    }, async () => {
      const [old, next] = [certificate('old', ca), certificate('new', ca)]
      const flags = [
        '--tls-cert',
        site.file('cert.pem', old.cert),
        '--tls-key',
        site.file('key.pem', old.key),
      ]
      site.file('new-cert.pem', next.cert)
      site.file('new-key.pem', next.key)
      const server = await site.serve(['--workers', String(count), ...flags], hangingUp)
      await server.logged('TLS certificates renewed', count)
      assert.equal(await servedName(server.url), 'new')
      server.child.kill('SIGTERM')
      assert.equal((await server.exited).code, 0)
    })
})

describe('serve with TLS', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())
  const certFile = join(site.path, 'cert.pem')
  const keyFile = join(site.path, 'key.pem')
  const caFile = join(site.path, 'client-ca.pem')
  const tls = ['--tls-cert', certFile, '--tls-key', keyFile]

  const install = ({ cert, key }: Pick<Certificate, 'cert' | 'key'>): void => {
    site.file('cert.pem', cert)
    site.file('key.pem', key)
  }

  let server: Program & { url: string }
  let renewals = 0
  const renew = async (next: Certificate): Promise<void> => {
    install(next)
    server.child.kill('SIGHUP')
    await server.logged('TLS certificates renewed', ++renewals)
  }
  before(async () => {
    install(certificate('first', ca))
    server = await site.serve([...tls, '--drain-timeout', '3600'])
  })

  test('it answers HTTPS and nothing else (C35.1)', async () => {
    assert.match(server.url, /^https:\/\/127\.0\.0\.1:\d+$/)
    const socket = await connectTo(server.url)
    assert.equal(nameOf(socket), 'first')
    assert.equal(await health(socket), 'HTTP/1.1 200 OK')
    socket.destroy()
    await assert.rejects(fetch(server.url.replace('https', 'http')))
    await assert.rejects(connectTo(server.url, { ca: clientCa.cert }), {
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    })
    await assert.rejects(connectTo(server.url, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }))
  })

  test('a client that closes its sending side after its request still gets an answer (C35.1)', async () => {
    const { api_key } = await site.json('tenant', 'create', '--name', 'T')
    const body = JSON.stringify({ type: 'token', data: 'x' })
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await connectTo(server.url, { allowHalfOpen: true, maxVersion: version })
      socket.end(
        `POST /tokens HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${api_key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      let answer = ''
      for await (const chunk of socket.setEncoding('utf8')) answer += chunk
      assert.match(answer, /^HTTP\/1\.1 201 /, version)
    }
  })

  test('SIGHUP gives new connections the new certificate and leaves existing ones alone (C35.1)', async () => {
    const old = await connectTo(server.url)
    await renew(certificate('second', ca))
    assert.equal(await servedName(server.url), 'second')
    assert.equal(await health(old), 'HTTP/1.1 200 OK')
    old.destroy()
  })

  const third = certificate('third', ca)
  const broken: { name: string; files: Pick<Certificate, 'cert' | 'key'> }[] = [
    { name: 'garbage', files: { cert: 'garbage', key: third.key } },
    { name: 'of another key', files: { cert: third.cert, key: certificate('x').key } },
    { name: 'of a key of another kind', files: { cert: third.cert, key: rsaKey } },
    { name: 'empty', files: { cert: '', key: '' } },
  ]
  test('a broken new certificate leaves the old one in place, and a good one installed later is used (C35.1)', async () => {
    await renew(certificate('sound', ca))
    for (const [index, { name, files }] of broken.entries()) {
      install(files)
      server.child.kill('SIGHUP')
      const line = await server.logged(
        'the new TLS certificates cannot be used; the old ones stay',
        index + 1,
      )
      assert.match(JSON.parse(line).reason, /cert\.pem, \S+key\.pem do not hold a certificate and its key/)
      assert.equal(await servedName(server.url), 'sound', name)
    }
    await renew(third)
    assert.equal(await servedName(server.url), 'third')
    assert.ok(!server.stderr.includes('garbage'))
  })

  test('a stop does not wait for clients that left during the handshake (C35.1)', {
    timeout: 30_000,
  }, async () => {
    await assert.rejects(connectTo(server.url, { ca: clientCa.cert }))
    const gone = await connectTo(server.url)
    gone.destroy()
    server.child.kill('SIGTERM')
    assert.equal((await server.exited).code, 0)
  })

  test('with a client CA, only its clients are answered, and SIGHUP replaces the CA too (C35.1)', async () => {
    install(certificate('first', ca))
    site.file('client-ca.pem', clientCa.cert)
    const server = await site.serve([...tls, '--tls-client-ca', caFile])
    const friend = certificate('friend', clientCa)
    const answerTo = async (client: ConnectionOptions): Promise<string> => {
      const socket = await connectTo(server.url, client).catch(error => `refused: ${error.code}`)
      return typeof socket === 'string' ? socket : health(socket).finally(() => socket.destroy())
    }
    const refusal = /^refused: (ERR_SSL_|ECONNRESET|EPIPE|closed)/
    const otherCa = certificate('client ca')
    const stranger = certificate('friend', otherCa)
    assert.equal(await answerTo({ cert: friend.cert, key: friend.key }), 'HTTP/1.1 200 OK')
    assert.match(await answerTo({}), refusal)
    assert.match(await answerTo({ cert: stranger.cert, key: stranger.key }), refusal)

    site.file('client-ca.pem', otherCa.cert)
    server.child.kill('SIGHUP')
    await server.logged('TLS certificates renewed')
    assert.equal(await answerTo({ cert: stranger.cert, key: stranger.key }), 'HTTP/1.1 200 OK')
    assert.match(await answerTo({ cert: friend.cert, key: friend.key }), refusal)

    site.file('client-ca.pem', 'garbage')
    server.child.kill('SIGHUP')
    await server.logged('the new TLS certificates cannot be used; the old ones stay')
    assert.equal(await answerTo({ cert: stranger.cert, key: stranger.key }), 'HTTP/1.1 200 OK')
  })

  test('a tenant made with the settings of a TLS server gets an https base_url (C35.3)', async () => {
    install(certificate('first', ca))
    await site.run(['migrate', ...site.vault])
    const made = await site.json('tenant', 'create', '--name', 'T', ...tls, '--host', '::1', '--port', '8443')
    assert.equal(made.base_url, 'https://[::1]:8443')
  })
})
