import type { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { traceIdHeader } from '../contract/headers.ts'
import { newUuid } from '../crypto/uuid.ts'
import type { HeaderPair } from '../domain/proxying/sent-headers.ts'

/** The headers of an answer. */
export type AnswerHeaders = Record<string, string | number>

/** One request and its answer. Code that gets one does not know which reader read it (`connections/`). */
export type Exchange = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The same one by one, in order. */
  readonly headerPairs: readonly HeaderPair[]
  /** The length of the body as the head announces it; 0 if it announces none. */
  readonly bodyBytes: number
  readonly traceId: string
  /** Where the request comes from. */
  readonly remoteAddress: string
  /** Path parameters, decoded. They are set when the route is found. */
  params: Readonly<Record<string, string>>
  /** Of the answer; undefined while there is none. */
  readonly status: number | undefined
  /** Headers that every answer to this request has, problems included. */
  corsHeaders: Readonly<Record<string, string>> | undefined
  /**
   * Returns the body at once if it arrived with the head. As it grows, `mayHold` is asked for room; if it says no, the body is
   * refused.
   */
  body(mayHold: (bytes: number) => boolean): Buffer | Promise<Buffer>
  /** Sends the whole answer. May be called once. Returns how many bytes the client has not read yet. */
  send(status: number, headers: AnswerHeaders, content?: string): number
  /** Sends an answer that somebody else made: any headers, any bytes. Nothing but what the connection needs is added. */
  sendOn(status: number, headers: readonly HeaderPair[], body: Buffer): number
  /** Begins an answer of unknown length. */
  stream(status: number, headers: AnswerHeaders): AnswerStream
  /** Called if the client leaves before its answer is complete. */
  onGone: (() => void) | undefined
  /** Called once the client has read an answer that it was slow to read, or never will. */
  onRead: (() => void) | undefined
  /** Ends the connection, when no answer can be sent. */
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

/** Returns the caller's trace id if it is usable, and otherwise a new one. */
export const traceId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && usableTraceId.test(sent) && !refusedTraceId.test(sent) ? sent : newUuid()

/** Resolves when the peer has taken what was written, or has left. */
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
