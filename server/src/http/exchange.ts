import type { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { traceIdHeader } from '../contract/headers.ts'
import { newUuid } from '../crypto/uuid.ts'

/** What an answer says in its head. */
export type AnswerHeaders = Record<string, string | number>

/** One request and its answer. Nobody who gets one knows which reader has read it (`connections/`). */
export type Exchange = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** How long the body is, according to the head; 0 if that does not say. */
  readonly bodyBytes: number
  readonly traceId: string
  /** Where the request comes from. */
  readonly remoteAddress: string
  /** Of the path, decoded; set when the route is found. */
  params: Readonly<Record<string, string>>
  /** Headers that every answer to this request has, problems too. */
  corsHeaders: Readonly<Record<string, string>> | undefined
  /** At once if it has arrived with the head. `mayHold` is asked for room as it grows; where there is none, the body is refused. */
  body(mayHold: (bytes: number) => boolean): Buffer | Promise<Buffer>
  /** The whole answer, once. Returns how many bytes of it wait for the client to read them. */
  send(status: number, headers: AnswerHeaders, content?: string): number
  /** An answer whose length is not known yet. */
  stream(status: number, headers: AnswerHeaders): AnswerStream
  /** Called once the client has left before its answer was complete. */
  onGone: (() => void) | undefined
  /** Called once an answer that waited for the client was read, or will never be. */
  onRead: (() => void) | undefined
  /** Ends the connection: nothing can be said any more. */
  abandon(): void
}

export type AnswerStream = {
  /** Resolves when the client has read enough for more to be written, or has left. */
  write(content: string): Promise<void>
  end(): void
}

export type Serve = (exchange: Exchange) => void

const usableTraceId = new RegExp(traceIdHeader.schema.pattern)
const refusedTraceId = new RegExp(traceIdHeader.refused)

/** The caller's trace id if it is usable, otherwise a new one. */
export const traceId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && usableTraceId.test(sent) && !refusedTraceId.test(sent) ? sent : newUuid()

/** Resolves when what was written has been taken and more may follow, or when nobody is left to take it. */
export const drained = (written: EventEmitter & { readonly destroyed: boolean }): Promise<void> =>
  written.destroyed
    ? // Not at once: a writer that never waits would never learn that the client has left.
      nextIteration()
    : new Promise(resolve => {
        const done = (): void => {
          written.off('drain', done).off('close', done)
          resolve()
        }
        written.on('drain', done).on('close', done)
      })
