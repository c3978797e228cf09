import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { limits } from '../../src/domain/limits.ts'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

const body = '{"type":"token","data":"Sensitive Value"}'

onSqliteAlone(
  'a client that waits until its body is asked for',
  'the head is judged above storage',
  vault => {
    let key: string
    before(async () => {
      key = (await vault().tenant({ owner })).keys.owner
    })

    /** What the server says to the head; and, where it asks for the body, to the body. */
    const exchange = async (line: string, ...fields: readonly string[]): Promise<string> => {
      const { hostname, port } = new URL(vault().baseUrl)
      const socket = connect(Number(port), hostname).setEncoding('utf8')
      let said = ''
      socket.on('data', (text: string) => {
        if (said === '' && text.startsWith('HTTP/1.1 100 ')) socket.end(body)
        said += text
      })
      socket.write(
        [`${line} HTTP/1.1`, 'Host: vault', 'Expect: 100-Continue', ...fields, '', ''].join('\r\n'),
      )
      await once(socket, 'close')
      return said
    }
    const json = 'Content-Type: application/json'
    const length = `Content-Length: ${body.length}`

    test('C1.1 is asked for it once its head is found right', async () => {
      const said = await exchange('POST /tokens', `SVC-API-KEY: ${key}`, json, length)
      assert.match(said, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
    })

    const refused: { name: string; line?: string; fields: () => string[]; status: number }[] = [
      { name: 'C3.1 no key', fields: () => [json, length], status: 401 },
      {
        name: 'C2.19 C8.2 more than is taken',
        fields: () => [`SVC-API-KEY: ${key}`, json, `Content-Length: ${limits.bodyBytes + 1}`],
        status: 413,
      },
      {
        name: 'C2.20 another type',
        fields: () => [`SVC-API-KEY: ${key}`, 'Content-Type: text/plain', length],
        status: 415,
      },
      {
        name: 'C2.13 no such path',
        line: 'POST /nowhere',
        fields: () => [`SVC-API-KEY: ${key}`, length],
        status: 404,
      },
      {
        name: 'C1.3 a body that nobody reads',
        line: 'GET /tokens',
        fields: () => [`SVC-API-KEY: ${key}`, length],
        status: 200,
      },
    ]
    for (const { name, line = 'POST /tokens', fields, status } of refused)
      test(`${name}: it is answered with ${status} and not asked, and the connection ends`, async () => {
        const said = await exchange(line, ...fields())
        assert.match(said, new RegExp(`^HTTP/1\\.1 ${status} `))
        assert.match(said, /\r\nconnection: close\r\n/i)
      })
  },
)
