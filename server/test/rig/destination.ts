import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import type { Certificate } from './certificates.ts'

/** A request as it arrived, to the byte. */
export type ReceivedRequest = {
  readonly line: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** The bytes of an answer, or what to do with the connection. */
export type Reply = string | Buffer | ((socket: TLSSocket, request: ReceivedRequest) => void)

/** Somebody else's server, which may answer anything: TLS, then the bytes that the test says. */
export class Destination {
  readonly requests: ReceivedRequest[] = []
  reply: Reply = ok('fine')
  /** Connections that were accepted, before any handshake. */
  connections = 0
  /** Bytes of requests that were decrypted. */
  bytes = 0
  readonly port: number
  readonly #server: Server
  readonly #sockets = new Set<TLSSocket>()

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    server.on('connection', () => this.connections++)
    server.on('tlsClientError', () => {})
    server.on('secureConnection', (socket: TLSSocket) => this.#serve(socket))
  }

  static async start(
    { cert, key }: Certificate,
    { host = '127.0.0.1', port = 0, tls = {} }: { host?: string; port?: number; tls?: TlsOptions } = {},
  ): Promise<Destination> {
    const server = createServer({ cert, key, ...tls })
    server.listen(port, host)
    await once(server, 'listening')
    return new Destination(server)
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #serve(socket: TLSSocket): void {
    this.#sockets.add(socket)
    let read = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length
      read = Buffer.concat([read, chunk])
      for (;;) {
        const end = read.indexOf('\r\n\r\n')
        if (end === -1) return
        const [line = '', ...lines] = read.toString('latin1', 0, end).split('\r\n')
        const headers = lines.map((text): [string, string] => {
          const colon = text.indexOf(':')
          return [text.slice(0, colon), text.slice(colon + 1).trim()]
        })
        const length = Number(headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? 0)
        if (read.length < end + 4 + length) return
        const request = { line, headers, body: Buffer.from(read.subarray(end + 4, end + 4 + length)) }
        read = read.subarray(end + 4 + length)
        this.requests.push(request)
        const { reply } = this
        if (typeof reply === 'function') reply(socket, request)
        else socket.write(reply)
      }
    })
  }
}

/** The bytes of an answer with this body. */
export const answerBytes = (
  body: string | Buffer,
  { status = '200 OK', headers = [] }: { status?: string; headers?: readonly string[] } = {},
): Buffer =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${[status, ...headers, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n`,
      'latin1',
    ),
    Buffer.from(body),
  ])

export const ok = (body: string | Buffer): Buffer => answerBytes(body)
