import { EventEmitter } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { type PlainHead, readPlainRequest } from './plain-request.ts'

type Route = (request: IncomingMessage, response: ServerResponse) => void

export type PlainLane = {
  /** Idle connections end now, the others after their answer. */
  close(): void
}

/**
 * Answers plain requests straight from the socket, for half of what Node's HTTP server takes for them. The first thing
 * on a connection that is not plain (`plain-request.ts`) hands it to that server, for good: everything about HTTP
 * that is difficult stays there.
 */
export const plainLane = (server: Server, route: Route): PlainLane => {
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection'
  const [takeOver] = server.listeners(event)
  if (takeOver === undefined) throw new Error('the server takes no connections')
  const connections = new Set<PlainConnection>()
  let isClosing = false
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => {
    if (isClosing) {
      takeOver.call(server, socket)
      return
    }
    const connection = new PlainConnection(socket, {
      idleMs: server.keepAliveTimeout,
      route,
      handOver: () => takeOver.call(server, socket),
      left: () => connections.delete(connection),
    })
    connections.add(connection)
  })
  return {
    close: () => {
      isClosing = true
      for (const connection of connections) connection.close()
    },
  }
}

const graceMs = 1_000

type ConnectionOptions = {
  readonly idleMs: number
  readonly route: Route
  readonly handOver: () => void
  readonly left: () => void
}

/** One request after the other, as long as they are plain. */
class PlainConnection {
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  /** From the request until its answer has been taken by the kernel. */
  #isBusy = false
  #isAnswering = false
  #isLast = false
  /** What came before the answer to what came before it. */
  #early: Buffer | undefined

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket
    this.#options = options
    // Later than was promised, so that nothing is sent to a connection that ends just then.
    socket.setTimeout(options.idleMs + graceMs)
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('timeout', this.#onTimeout)
    socket.on('error', this.#onError)
    socket.on('close', options.left)
  }

  get keepAliveSeconds(): number {
    return Math.floor(this.#options.idleMs / 1_000)
  }

  get isLast(): boolean {
    return this.#isLast
  }

  close(): void {
    this.#isLast = true
    if (!this.#isBusy) this.#socket.end()
  }

  /** The answer to the request that is being worked on. */
  answer(text: string, isLast: boolean): void {
    this.#isAnswering = false
    if (isLast) {
      this.#socket.end(text)
      return
    }
    this.#isBusy = !this.#socket.write(text)
    if (!this.#isBusy) this.#goOn()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isBusy) {
      this.#early = this.#early === undefined ? bytes : Buffer.concat([this.#early, bytes])
      this.#socket.pause()
      return
    }
    const head = readPlainRequest(bytes)
    if (head === undefined) {
      this.#handOver(bytes)
      return
    }
    this.#isBusy = true
    this.#isAnswering = true
    const request = new PlainRequest(this.#socket, head, bytes.subarray(head.bodyStart))
    this.#options.route(
      request as unknown as IncomingMessage,
      new PlainResponse(this) as unknown as ServerResponse,
    )
  }

  readonly #onDrain = (): void => {
    this.#isBusy = false
    this.#goOn()
  }

  #goOn(): void {
    if (this.#isLast) this.#socket.end()
    else if (this.#early !== undefined) this.#handOver(this.#early)
  }

  /** Whoever has said all may still wait for the answer. */
  readonly #onEnd = (): void => this.close()

  readonly #onTimeout = (): void => {
    if (!this.#isAnswering) this.#socket.destroy()
  }

  /** The socket closes after it. */
  readonly #onError = (): void => {}

  #handOver(bytes: Buffer): void {
    const socket = this.#socket
    socket.pause()
    socket.setTimeout(0)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('drain', this.#onDrain)
    socket.off('timeout', this.#onTimeout)
    socket.off('error', this.#onError)
    socket.off('close', this.#options.left)
    this.#options.left()
    this.#options.handOver()
    socket.unshift(bytes)
    socket.resume()
  }
}

/** What Fastify reads of a request; its body is there already. */
class PlainRequest extends EventEmitter {
  readonly socket: Socket
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly httpVersion = '1.1'
  readonly httpVersionMajor = 1
  readonly aborted = false
  readonly #body: Buffer

  constructor(socket: Socket, { method, url, headers }: PlainHead, body: Buffer) {
    super()
    this.socket = socket
    this.method = method
    this.url = url
    this.headers = headers
    this.#body = body
  }

  resume(): this {
    if (this.#body.length > 0) this.emit('data', this.#body)
    this.emit('end')
    return this
  }
}

type Headers = Record<string, string | number>

/** What Fastify and the pipeline write: one head, one body, in one piece. */
class PlainResponse extends EventEmitter {
  statusCode = 200
  headersSent = false
  writableEnded = false
  readonly #connection: PlainConnection
  #headers: Headers = {}

  constructor(connection: PlainConnection) {
    super()
    this.#connection = connection
  }

  getHeader(name: string): string | number | undefined {
    return this.#headers[name.toLowerCase()]
  }

  getHeaders(): Headers {
    return { ...this.#headers }
  }

  hasHeader(name: string): boolean {
    return this.getHeader(name) !== undefined
  }

  setHeader(name: string, value: string | number): this {
    this.#headers[name.toLowerCase()] = value
    return this
  }

  removeHeader(name: string): void {
    delete this.#headers[name.toLowerCase()]
  }

  writeHead(status: number, headers: Headers = {}): this {
    this.statusCode = status
    this.#headers = Object.assign(this.#headers, headers)
    this.headersSent = true
    return this
  }

  end(content?: string | null): this {
    const isLast = this.#connection.isLast || this.#headers.connection === 'close'
    const lines = [`HTTP/1.1 ${this.statusCode} ${STATUS_CODES[this.statusCode]}`]
    for (const name of Object.keys(this.#headers))
      if (name !== 'connection') lines.push(`${name}: ${printable(this.#headers[name])}`)
    lines.push(`Date: ${date()}`)
    if (isLast) lines.push('Connection: close')
    else lines.push('Connection: keep-alive', `Keep-Alive: timeout=${this.#connection.keepAliveSeconds}`)
    lines.push('', content ?? '')
    this.headersSent = true
    this.writableEnded = true
    this.#connection.answer(lines.join('\r\n'), isLast)
    this.emit('finish')
    return this
  }
}

const unprintable = /[^\x20-\x7e]/

/** A header that could end itself and begin another one never leaves. */
const printable = (value: string | number | undefined): string => {
  const text = String(value)
  if (unprintable.test(text)) throw new Error('a header has a character that it must not have')
  return text
}

let shown = { second: 0, text: '' }

const date = (): string => {
  const second = Math.floor(Date.now() / 1_000)
  if (second !== shown.second) shown = { second, text: new Date(second * 1_000).toUTCString() }
  return shown.text
}
