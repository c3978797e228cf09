import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Caller } from '../operations/vault/vault.ts'

/** What an answer says in its head. */
export type AnswerHeaders = Record<string, string | number>

/** One request and its answer, whichever way it came: straight off the socket (`plain/`), or through Node and Fastify. */
export type Exchange = {
  readonly socket: Socket
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** How long the body is, according to the head; 0 if that does not say. */
  readonly bodyBytes: number
  /** Of the path, decoded. */
  readonly params: unknown
  readonly traceId: string
  /** What `admit` finds out, for the steps that follow. */
  caller: Caller | undefined
  corsHeaders: Readonly<Record<string, string>> | undefined
  /** At once, if it has arrived with the head. */
  body(): Buffer | Promise<Buffer>
  /** The whole answer, once. */
  send(status: number, headers: AnswerHeaders, content?: string): void
}

export type Serve = (exchange: Exchange) => void
