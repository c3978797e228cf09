import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { PlainHead } from './read-request.ts'

// Not an import, which would load everything the module offers, including a web client, and make a start 0.05 s slower.
const reasons = process.getBuiltinModule('node:http').STATUS_CODES

/** Where the answer to a request goes. */
export type Answering = {
  readonly keepAliveSeconds: number
  /** Whether the connection ends with this answer. */
  readonly isLast: boolean
  answer(text: string, isLast: boolean): void
}

/** The parts of Node's types that another class can implement: no methods that return `this` or have many overloads. */
export type RequestPart = Pick<
  IncomingMessage,
  'socket' | 'method' | 'url' | 'headers' | 'httpVersion' | 'httpVersionMajor' | 'aborted'
>
export type ResponsePart = Pick<
  ServerResponse,
  'statusCode' | 'headersSent' | 'writableEnded' | 'getHeader' | 'getHeaders' | 'hasHeader' | 'removeHeader'
>

/** What Fastify reads of a request. Its body has already arrived. */
export class PlainRequest implements RequestPart {
  readonly socket: Socket
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly httpVersion = '1.1'
  readonly httpVersionMajor = 1
  readonly aborted = false
  readonly body: Buffer

  constructor(socket: Socket, { method, url, headers }: PlainHead, body: Buffer) {
    this.socket = socket
    this.method = method
    this.url = url
    this.headers = headers
    this.body = body
  }
}

type Headers = Record<string, string | number>

/** What Fastify and the pipeline write: one head, one body, in one piece. */
export class PlainResponse extends EventEmitter implements ResponsePart {
  statusCode = 200
  headersSent = false
  writableEnded = false
  readonly req: PlainRequest
  readonly #connection: Answering
  #headers: Headers = {}

  constructor(request: PlainRequest, connection: Answering) {
    super()
    this.req = request
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
    this.#headers = isEmpty(this.#headers) ? headers : { ...this.#headers, ...headers }
    this.headersSent = true
    return this
  }

  end(content?: string | null): this {
    const isLast = this.#connection.isLast || this.#headers.connection === 'close'
    let text = `HTTP/1.1 ${this.statusCode} ${reasons[this.statusCode]}\r\n`
    for (const name in this.#headers)
      if (name !== 'connection') text += `${name}: ${requirePrintable(this.#headers[name])}\r\n`
    text += isLast
      ? `Date: ${date()}\r\nConnection: close\r\n\r\n`
      : `Date: ${date()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${this.#connection.keepAliveSeconds}\r\n\r\n`
    this.headersSent = true
    this.writableEnded = true
    this.#connection.answer(content ? text + content : text, isLast)
    this.emit('finish')
    return this
  }
}

const isEmpty = (headers: Headers): boolean => {
  for (const _ in headers) return false
  return true
}

const unprintable = /[^\x20-\x7e]/

/** Keeps a header value from ending its line and beginning another header. */
const requirePrintable = (value: string | number | undefined): string => {
  if (typeof value === 'number') return `${value}`
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
