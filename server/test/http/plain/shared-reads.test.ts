import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { shareReads } from '../../../src/http/plain/shared-reads.ts'

describe('connections that are read into a shared buffer', () => {
  let server: Server
  let opened: Socket[]
  beforeEach(async () => {
    opened = []
    server = createServer({ allowHalfOpen: true })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  afterEach(() => {
    for (const socket of opened) socket.destroy()
    server.close()
  })

  /** Calls `taken` in the turn in which the server takes the connection, as the lane does. */
  const open = (taken: (served: Socket) => void): Socket => {
    server.once('connection', (served: Socket) => {
      opened.push(served)
      taken(served)
    })
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    opened.push(client)
    return client
  }
  const someTurns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  }

  test('docs/decisions/0018: this release of Node reads all of them into the same memory', async () => {
    const memory = new Set<ArrayBufferLike>()
    for (const said of ['first', 'second']) {
      const heard = new Promise<string>(resolve => {
        const client = open(served =>
          shareReads(served, bytes => {
            memory.add(bytes.buffer)
            resolve(bytes.toString())
          }),
        )
        client.write(said)
      })
      assert.equal(await heard, said)
    }
    assert.equal(memory.size, 1)
  })

  test('docs/decisions/0018: one that is a stream again yields every byte, and holds no more than other streams', async () => {
    const sent = randomBytes(8_000_000)
    const served = await new Promise<Socket>(resolve => {
      const client = open(socket => {
        const endSharing = shareReads(socket, bytes => {
          socket.pause()
          endSharing()
          socket.unshift(Buffer.from(bytes))
          resolve(socket)
        })
      })
      client.end(sent)
    })
    const pieces: Buffer[] = []
    for (let piece = 0; piece < 20; piece++) {
      await someTurns()
      pieces.push(served.read(1_000))
      assert.ok(served.readableLength <= 65_536 + served.readableHighWaterMark)
    }
    assert.ok(sent.equals(Buffer.concat([...pieces, ...(await served.toArray())])))
  })

  test('docs/decisions/0018: what cannot be read so stays a stream', () => {
    const unconnected = new Socket()
    shareReads(unconnected, () => {})()
    assert.equal(unconnected.read, Socket.prototype.read)
  })
})
