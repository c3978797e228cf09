import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { limits } from '../../src/domain/limits.ts'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

const body = '{"type":"token","data":"Sensitive Value"}'

onSqliteAlone(
  'a client that waits for 100 Continue before sending its body',
  'the head is checked above storage',
  vault => {
    let key: string
    before(async () => {
      key = (await vault().tenant({ owner })).keys.owner
    })

    const json = 'Content-Type: application/json'
    const length = `Content-Length: ${body.length}`
    const head = (line: string, ...fields: readonly string[]): string =>
      [`${line} HTTP/1.1`, 'Host: vault', ...fields, '', ''].join('\r\n')
    const asking = (line: string, ...fields: readonly string[]): string =>
      head(line, 'Expect: 100-Continue', ...fields)

    /** What the server answers to `sent`, and, if it then asks for a body, to the rest. */
    const exchange = async (sent: string, rest = body): Promise<string> => {
      const { hostname, port } = new URL(vault().baseUrl)
      const socket = connect(Number(port), hostname).setEncoding('utf8')
      let said = ''
      let isAsked = false
      socket.on('data', (text: string) => {
        said += text
        if (isAsked || !said.includes('HTTP/1.1 100 ')) return
        isAsked = true
        socket.end(rest)
      })
      socket.write(sent)
      await once(socket, 'close')
      return said
    }
    const statuses = (said: string): number[] =>
      [...said.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))

    const create = (): string => asking('POST /tokens', `SVC-API-KEY: ${key}`, json, length)
    const list = (): string => head('GET /tokens', `SVC-API-KEY: ${key}`)

    test('is asked for the body once its head is accepted (C1.1)', async () =>
      assert.deepEqual(statuses(await exchange(create())), [100, 201]))

    test('is asked for the body after the answer to the request before it (C1.1)', async () =>
      assert.deepEqual(statuses(await exchange(list() + create())), [200, 100, 201]))

    test('can keep using the connection after it is asked (C1.1)', async () => {
      assert.deepEqual(statuses(await exchange(create(), body + list())), [100, 201, 200])
      assert.deepEqual(statuses(await exchange(create() + body + list(), '')), [100, 201, 200])
    })

    const refused: { name: string; line?: string; fields: () => string[]; status: number }[] = [
      { name: 'no key (C3.1)', fields: () => [json, length], status: 401 },
      {
        name: 'a body over the limit (C2.19, C8.2)',
        fields: () => [`SVC-API-KEY: ${key}`, json, `Content-Length: ${limits.bodyBytes + 1}`],
        status: 413,
      },
      {
        name: 'a wrong Content-Type (C2.20)',
        fields: () => [`SVC-API-KEY: ${key}`, 'Content-Type: text/plain', length],
        status: 415,
      },
      {
        name: 'an unknown path (C2.13)',
        line: 'POST /nowhere',
        fields: () => [`SVC-API-KEY: ${key}`, length],
        status: 404,
      },
      {
        name: 'a body that is never read (C1.3)',
        line: 'GET /tokens',
        fields: () => [`SVC-API-KEY: ${key}`, length],
        status: 200,
      },
    ]
    for (const { name, line = 'POST /tokens', fields, status } of refused)
      test(`${name}: the answer is ${status} without asking for the body, and the connection closes`, async () => {
        const said = await exchange(asking(line, ...fields()))
        assert.match(said, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(said, /\r\nconnection: close\r\n/i)
      })

    test('a client of HTTP/1.0, which knows no 100 Continue, is not asked for its body: it gets one answer (C1.1)', async () =>
      assert.deepEqual(statuses(await exchange(create().replace('HTTP/1.1', 'HTTP/1.0') + body)), [201]))

    test('a client that does not wait is not asked for its body: it gets one answer (C1.1)', async () => {
      const { hostname, port } = new URL(vault().baseUrl)
      const socket = connect(Number(port), hostname).setEncoding('utf8')
      socket.write(head('POST /tokens', `SVC-API-KEY: ${key}`, json, 'Transfer-Encoding: chunked'))
      await new Promise(setImmediate)
      socket.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
      const [first] = await once(socket, 'data')
      assert.match(first, /^HTTP\/1\.1 201 /)
      socket.destroy()
    })
  },
)
