import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import about from '../../package.json' with { type: 'json' }
import { certificate } from '../rig/certificates.ts'
import { inShortRun } from '../rig/long-run.ts'
import { type Program, Site } from '../rig/program.ts'

describe('status', () => {
  const site = new Site()
  let server: Program & { url: string }
  let port: string
  before(async () => {
    server = await site.serve()
    port = new URL(server.url).port
  })
  after(() => site.remove())

  test('a server that is ready says so with version and engine, in words and as JSON, and the exit code is 0 (C35, C36)', async () => {
    const told = await site.run(['status', '--port', port, ...site.vault])
    assert.deepEqual(told, {
      code: 0,
      signal: null,
      stdout: `${server.url} is ready\n  version ${about.version}\n  SQLite: ${site.data}\n`,
      stderr: '',
    })
    const { code, stdout } = await site.run(['status', '--json', '--host', '0.0.0.0', '--port', port])
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout), { url: server.url, ready: true, version: about.version })
  })

  test('a server whose storage is away is not ready, and says why (C36)', async () => {
    renameSync(`${site.data}/vault.db`, `${site.data}/away.db`)
    const { code, stdout } = await site.run(['status', '--port', port])
    renameSync(`${site.data}/away.db`, `${site.data}/vault.db`)
    assert.equal(code, 1)
    assert.match(stdout, /^\S+ is not ready\n {2}\S.+\n {2}version /)
  })

  test('nothing that listens, and something else that does, are not ready (C35)', async () => {
    const other = createServer(socket =>
      socket.resume().end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'),
    )
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port: taken } = other.address() as { port: number }
    const strange = await site.run(['status', '--port', String(taken)])
    assert.deepEqual([strange.code, /it answers 200, and is no vault/.test(strange.stdout)], [1, true])
    await new Promise(resolve => other.close(resolve))
    const none = await site.run(['status', '--port', String(taken)])
    assert.deepEqual([none.code, /there is no answer: nothing listens there/.test(none.stdout)], [1, true])
  })

  test('with TLS, the certificate of the settings is the one that must answer, whatever name is in it, and is shown where clients need one (C35)', {
    skip: inShortRun,
  }, async () => {
    const [own, others] = [certificate('vault.example'), certificate('vault.example')]
    const files = (name: string, { cert, key }: typeof own): string[] => [
      ...['--tls-cert', site.file(`${name}.pem`, cert)],
      ...['--tls-key', site.file(`${name}.key`, key)],
    ]
    const tls = files('own', own)
    const secure = await site.serve([...tls, '--tls-client-ca', site.file('ca.pem', own.cert)])
    const at = ['status', '--port', new URL(secure.url).port]
    assert.equal((await site.run([...at, ...tls])).code, 0)
    const wrong = await site.run([...at, ...files('others', others)])
    assert.deepEqual([wrong.code, /another certificate answers/.test(wrong.stdout)], [1, true], wrong.stdout)
    const plain = await site.run(at)
    assert.deepEqual(
      [plain.code, /in this protocol: compare --tls-cert/.test(plain.stdout)],
      [1, true],
      plain.stdout,
    )
  })
})
