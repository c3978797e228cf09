import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { bodyBytes } from '../../../src/http/connections/body-bytes.ts'
import { heldBytes } from '../../rig/held-bytes.ts'

describe('the bytes of a body that arrives after its head', () => {
  const server = createServer()
  before(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  after(() => server.close())

  type Sent = { socket: Socket; exchange: [IncomingMessage, ServerResponse] }
  const send = async (bytes: string): Promise<Sent> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(bytes)
    const [request, response] = await once(server, 'request')
    return { socket, exchange: [request, response] }
  }
  const head = (...fields: readonly string[]): string =>
    ['POST / HTTP/1.1', 'Host: x', ...fields, '', ''].join('\r\n')

  test('a body is read as it was sent, in however many pieces (§4.2.1)', async () => {
    const { socket, exchange } = await send(head('Transfer-Encoding: chunked'))
    const whole = bodyBytes(...exchange, () => true)
    for (const piece of ['3\r\none\r\n', '4\r\n two\r', '\n0\r\n\r\n']) socket.write(piece)
    assert.equal(String(await whole), 'one two')
    socket.destroy()
  })

  test('a body takes up little more than its bytes, in however small chunks (C8.2)', async () => {
    const { socket, exchange } = await send(head('Transfer-Encoding: chunked'))
    const [request] = exchange
    const start = heldBytes()
    const whole = bodyBytes(...exchange, () => true)
    const chunks = 100_000
    const come = new Promise<void>(resolve => {
      let count = 0
      request.on('data', () => ++count === chunks && resolve())
    })
    socket.write('1\r\nx\r\n'.repeat(chunks))
    await come
    const heldMore = heldBytes() - start
    socket.end('0\r\n\r\n')
    assert.equal((await whole).length, chunks)
    assert.ok(heldMore < 10 * chunks, `${heldMore} bytes`)
  })

  test('a body is refused when more than the limit is announced, before a byte of it is read (C2.19)', async () => {
    const { socket, exchange } = await send(head('Content-Length: 1048577'))
    await assert.rejects(async () => bodyBytes(...exchange, () => true), { code: 'bodyTooLarge' })
    socket.destroy()
  })

  test('a body for which there is no room is refused, whether it is announced or grows (C37.6)', async () => {
    for (const [fields, body, asked] of [
      [['Content-Length: 100'], '', [100]],
      [['Transfer-Encoding: chunked'], '64\r\n', [0, 200]],
    ] as const) {
      const { socket, exchange } = await send(head(...fields) + body)
      const rooms: number[] = []
      const refused = bodyBytes(...exchange, room => {
        rooms.push(room)
        return room === 0
      })
      socket.write('x'.repeat(100))
      await assert.rejects(async () => refused, { code: 'overloaded' })
      assert.deepEqual(rooms, asked)
      socket.destroy()
    }
  })

  test('nobody waits for the rest of a body whose sender has left (C2.10)', async () => {
    const { socket, exchange } = await send(`${head('Content-Length: 100')}some of it`)
    const never = bodyBytes(...exchange, () => true)
    socket.destroy()
    await assert.rejects(async () => never, { code: 'invalidHttp' })
  })
})
