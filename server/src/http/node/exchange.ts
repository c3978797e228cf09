import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../operations/vault/vault.ts'
import type { AnswerHeaders, Exchange } from '../exchange.ts'
import { traceId } from '../trace-id.ts'
import { bodyBytes } from './body-bytes.ts'

/** A request that Node's HTTP server has read and Fastify has routed. Both leave body and answer to us. */
export class NodeExchange implements Exchange {
  readonly traceId: string
  caller: Caller | undefined = undefined
  corsHeaders: Readonly<Record<string, string>> | undefined = undefined
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply

  constructor(request: FastifyRequest, reply: FastifyReply, traceHeader: string) {
    this.#request = request
    this.#reply = reply.hijack()
    this.traceId = traceId(request.headers[traceHeader])
  }

  get socket(): Socket {
    return this.#request.raw.socket
  }

  get method(): string {
    return this.#request.method
  }

  get url(): string {
    return this.#request.url
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers
  }

  get bodyBytes(): number {
    return Number(this.headers['content-length'] ?? 0)
  }

  get params(): unknown {
    return this.#request.params
  }

  /** HTTP/1 with one Host, which 1.0 may omit (RFC 9112, 3.2). */
  get isValidHttp1(): boolean {
    const { headers, headersDistinct, httpVersion, httpVersionMajor }: IncomingMessage = this.#request.raw
    return (
      httpVersionMajor === 1 &&
      (headers.host !== undefined || httpVersion === '1.0') &&
      (headersDistinct.host ?? []).length <= 1
    )
  }

  body(): Promise<Buffer> {
    return bodyBytes(this.#request.raw, this.#reply.raw)
  }

  send(status: number, headers: AnswerHeaders, content?: string): void {
    const { raw, server } = this.#reply
    // While the service stops, an answer must close its connection, which would otherwise be kept alive.
    if (!server.server.listening) headers.connection = 'close'
    raw.writeHead(status, headers)
    raw.end(content)
  }
}
