import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions, type Server as TlsServer } from 'node:tls'
import type { VaultError } from '../../domain/errors.ts'
import type { Exchange } from '../exchange.ts'
import { NodeReader } from './node-connection.ts'
import type { NodeExchange } from './node-exchange.ts'
import { PlainConnection } from './plain-connection.ts'

/**
 * The entry to this folder. Two readers turn connections into exchanges. A connection begins with the strict reader, which reads
 * only what nearly all clients send (`plain-request.ts`), at half the cost. The first thing that is not plain moves the
 * connection to Node's parser for good (`node-connection.ts`). Both readers work on one request of a connection at a time.
 */
export class Listener {
  readonly server: Server | TlsServer
  readonly #reader: NodeReader
  readonly #plain = new Set<PlainConnection>()
  #isClosing = false

  constructor(options: {
    readonly tls?: TlsOptions
    readonly headerPrefix: string
    readonly traceHeader: string
    readonly serve: (exchange: Exchange) => void
    /** Answers a request that Node accepts although it is not HTTP/1 or does not name one host. */
    readonly refuse: (exchange: Exchange) => void
    readonly refuseTunnel: () => VaultError
    readonly noteMalformed?: () => void
    /** Milliseconds of a monotonic clock. */
    readonly now?: () => number
    /** Without the strict reader, Node reads everything. Tests compare the two. */
    readonly strictReader?: boolean
  }) {
    const { tls, serve, refuse, strictReader = true } = options
    this.#reader = new NodeReader({
      now: () => performance.now(),
      ...options,
      serve: (exchange: NodeExchange) => (exchange.isValidHttp1 ? serve : refuse)(exchange),
    })
    const take = (socket: Socket): void =>
      strictReader ? this.#take(socket, options) : this.#reader.take(socket, Buffer.alloc(0), false)
    // A client may half-close after its request and still wait for the answer. This is not an option of the TLS server: a client
    // that leaves during the handshake would go unnoticed, and a stop would wait for it.
    this.server =
      tls === undefined
        ? createServer({ allowHalfOpen: true, noDelay: true }, take)
        : createTlsServer({ ALPNProtocols: ['http/1.1'], noDelay: true, ...tls } as TlsOptions, socket => {
            socket.allowHalfOpen = true
            take(socket)
          })
  }

  #take(
    socket: Socket,
    { serve, traceHeader }: { serve: (exchange: Exchange) => void; traceHeader: string },
  ): void {
    const connection = new PlainConnection(socket, {
      traceHeader,
      serve,
      handOver: (...given) => this.#reader.take(...given),
      left: left => this.#plain.delete(left),
    })
    this.#plain.add(connection)
    if (this.#isClosing) connection.close()
  }

  /**
   * Accepts no more connections. Existing ones end after their next answer, or soon if they are idle. Resolves when all have
   * ended.
   */
  async close(): Promise<void> {
    this.#isClosing = true
    const closed = new Promise<void>(resolve => this.server.close(() => resolve()))
    for (const connection of this.#plain) connection.close()
    this.#reader.close()
    await closed
  }
}
