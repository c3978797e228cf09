import type { IncomingHttpHeaders } from 'node:http'

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
