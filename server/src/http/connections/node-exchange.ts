import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { VaultError } from '../../domain/errors.ts'
import type { HeaderPair } from '../../domain/proxying/sent-headers.ts'
import type { AnswerHeaders, AnswerStream, Exchange } from '../exchange.ts'
import { drained, traceId } from '../exchange.ts'
import { bodyBytes } from './body-bytes.ts'

/** What a request needs of its connection. */
type Connection = {
  readonly remoteAddress: string
  /** Bytes that the kernel has not taken yet. */
  readonly bytesUnread: number
  /** Whether the connection ends with this answer. */
  endsWith(exchange: NodeExchange): boolean
  destroy(): void
}

/** A request that Node's parser has read. */
export class NodeExchange implements Exchange {
  readonly traceId: string
  params: Readonly<Record<string, string>> = {}
  status: number | undefined = undefined
  corsHeaders: Readonly<Record<string, string>> | undefined = undefined
  onGone: (() => void) | undefined = undefined
  onRead: (() => void) | undefined = undefined
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #connection: Connection
  readonly #fault = Promise.withResolvers<never>()
  #hasFailed = false

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    traceHeader: string,
  ) {
    this.#request = request
    this.#response = response
    this.#connection = connection
    this.traceId = traceId(request.headers[traceHeader])
  }

  get method(): string {
    return this.#request.method ?? ''
  }

  get url(): string {
    return this.#request.url ?? ''
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers
  }

  get headerPairs(): readonly HeaderPair[] {
    const { rawHeaders } = this.#request
    const pairs: [string, string][] = []
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      pairs.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? ''])
    return pairs
  }

  get bodyBytes(): number {
    return Number(this.headers['content-length'] ?? 0)
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress
  }

  /** HTTP/1 with one Host, which 1.0 may omit (RFC 9112, 3.2). */
  get isValidHttp1(): boolean {
    const { headers, headersDistinct, httpVersion, httpVersionMajor } = this.#request
    return (
      httpVersionMajor === 1 &&
      (headers.host !== undefined || httpVersion === '1.0') &&
      (headersDistinct.host ?? []).length <= 1
    )
  }

  body(mayHold: (bytes: number) => boolean): Promise<Buffer> {
    // Node may still deliver a part of a body that has failed. Nobody would give that memory back.
    const mayStillHold = (bytes: number): boolean => !this.#hasFailed && mayHold(bytes)
    return Promise.race([this.#fault.promise, bodyBytes(this.#request, this.#response, mayStillHold)])
  }

  /** The rest of its body will not come. */
  failBody(reason: VaultError): void {
    this.#hasFailed = true
    // If nobody asks for the body, the failure does not matter.
    this.#fault.promise.catch(() => {})
    this.#fault.reject(reason)
  }

  send(status: number, headers: AnswerHeaders, content?: string): number {
    this.#begin(status, headers)
    this.#response.end(content)
    return this.#unread()
  }

  #unread(): number {
    const { bytesUnread } = this.#connection
    if (bytesUnread > 0) this.#response.once('close', () => this.onRead?.())
    return bytesUnread
  }

  sendOn(status: number, headers: readonly HeaderPair[], body: Buffer): number {
    const isLast = this.#connection.endsWith(this)
    const all = isLast ? [...headers, ['Connection', 'close'] as const] : headers
    this.#response.writeHead(status, all.flat())
    this.#response.end(body)
    return this.#unread()
  }

  stream(status: number, headers: AnswerHeaders): AnswerStream {
    this.#begin(status, headers)
    const response = this.#response
    return {
      write: async content => {
        if (!response.write(content)) await drained(response)
      },
      end: () => void response.end(),
    }
  }

  abandon(): void {
    this.#connection.destroy()
  }

  #begin(status: number, headers: AnswerHeaders): void {
    // Under overload, the rest of a body is not worth reading.
    if (status === 503 && !this.#request.complete) headers.connection = 'close'
    // While the service stops, an answer must close its connection, which would otherwise be kept alive.
    const isLast = this.#connection.endsWith(this)
    this.#response.writeHead(status, isLast ? { ...headers, Connection: 'close' } : headers)
    this.status = status
  }
}
