import type { ClientRequest, IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { type DestinationUrl, targetOf } from '../domain/outbound/destination-url.ts'
import { layerOf } from './decode-body.ts'
import { OutboundError, type OutboundFailure } from './outbound-error.ts'

export type Headers = readonly (readonly [name: string, value: string])[]

export type CallLimits = {
  /** Counted from when the request has left. */
  readonly firstByteMs: number
  readonly betweenBytesMs: number
  /** For all of it, from the moment when there is room for the call. */
  readonly totalMs: number
  /** Of the answer, once it is decoded, and before. */
  readonly answerBytes: number
  readonly wireBytes: number
}

/** An answer as it came. Its reason phrase and trailers are left behind. */
export type RawAnswer = { readonly status: number; readonly headers: Headers; readonly body: Buffer }

/** Heads of answers are at most this long. */
const headBytes = 32_768
/**
 * Pieces in which an answer may come: chunks, or what is encrypted by itself. Each takes 3 µs of this process, however short it is, and
 * two megabytes of chunks of one byte took a second.
 */
const piecesMax = 8_192
/** `100 Continue` and the like, of which a destination might send any number. */
const informationalMax = 8

type Call = {
  readonly agent: Agent
  readonly url: DestinationUrl
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
  readonly limits: CallLimits
  /** No byte of the request leaves before it resolves; the connection is made meanwhile. */
  readonly beforeFirstByte: Promise<void>
  /** Ends the call, with its reason. */
  readonly signal: AbortSignal | undefined
  /** Asked before more than `answerBytes` of an encoded answer are held. */
  readonly mayHoldMore: () => boolean
}

/** One request and its whole answer. It is sent once: nothing here follows, retries or decodes. */
export const call = (asked: Call): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { url, limits, signal } = asked
    let sent = false
    let status: number | undefined
    let informational = 0
    let isOver = false
    let timer: NodeJS.Timeout | undefined
    let timerMs = 0
    const end = (settle: () => void): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      clearTimeout(lastTimer)
      signal?.removeEventListener('abort', aborted)
      settle()
    }
    const fail = (error: unknown): void =>
      end(() => {
        outgoing?.destroy()
        reject(error)
      })
    // Each connection that closes says so, also after its answer, and an error takes 10 µs to make.
    const failOf = (failure: OutboundFailure) => (): void => {
      if (!isOver) fail(new OutboundError(failure, { sent, status }))
    }
    const aborted = (): void => fail(signal?.reason)
    const lastTimer = setTimeout(failOf('timeout'), limits.totalMs)
    const allow = (ms: number): void => {
      if (timer !== undefined && ms === timerMs) {
        timer.refresh()
        return
      }
      clearTimeout(timer)
      timerMs = ms
      timer = setTimeout(failOf('timeout'), ms)
    }
    const answered = (incoming: IncomingMessage): void => {
      const { statusCode = 0 } = incoming
      if (statusCode < 200 || statusCode > 599) {
        failOf('answer')()
        return
      }
      status = statusCode
      const { 'content-encoding': encoding, 'transfer-encoding': transfer } = incoming.headers
      const layer = layerOf(encoding)
      if (layer === undefined || (transfer ?? 'chunked').toLowerCase() !== 'chunked') {
        failOf('answer')()
        return
      }
      readAnswer(incoming, {
        wireBytesMax: limits.wireBytes,
        bytesMax: layer === 'none' ? limits.answerBytes : limits.wireBytes,
        freeBytes: limits.answerBytes,
        mayHoldMore: asked.mayHoldMore,
        onBytes: () => allow(limits.betweenBytesMs),
        fail: failOf('answer'),
        done: body => end(() => resolve({ status: statusCode, headers: pairsOf(incoming.rawHeaders), body })),
      })
      allow(limits.betweenBytesMs)
    }
    const count = (): void => {
      if (++informational > informationalMax) failOf('answer')()
    }
    let outgoing: ClientRequest | undefined
    signal?.addEventListener('abort', aborted)
    if (signal?.aborted) return aborted()
    try {
      outgoing = request({
        agent: asked.agent,
        host: url.host,
        port: url.port,
        servername: url.host,
        method: asked.method,
        path: targetOf(url),
        headers: asked.headers.flat(),
        maxHeaderSize: headBytes,
        insecureHTTPParser: false,
        setDefaultHeaders: false,
      })
    } catch (error) {
      return fail(error)
    }
    const { body } = asked
    outgoing
      .on('response', answered)
      .on('information', count)
      .on('upgrade', failOf('answer'))
      .on('error', error => {
        if (error instanceof OutboundError && !sent) fail(error)
        else failOf(isParserError(error) ? 'answer' : 'connect')()
      })
      .on('close', failOf('connect'))
    const connected = new Promise<void>(resolve => outgoing.once('socket', () => resolve()))
    // A call that fails before its record is there has nobody left to tell.
    Promise.all([connected, asked.beforeFirstByte]).then(() => {
      if (isOver) return
      sent = true
      outgoing.end(body)
      allow(limits.firstByteMs)
    }, fail)
  })

/** Bytes that are no HTTP, or too many of them in a head. */
const isParserError = (error: Error): boolean => 'code' in error && String(error.code).startsWith('HPE_')

const readAnswer = (
  incoming: IncomingMessage,
  {
    wireBytesMax,
    bytesMax,
    freeBytes,
    mayHoldMore,
    onBytes,
    fail,
    done,
  }: {
    /** With all that frames its pieces, which may be of one byte. */
    wireBytesMax: number
    bytesMax: number
    freeBytes: number
    mayHoldMore: () => boolean
    onBytes: () => void
    fail: () => void
    done: (body: Buffer) => void
  },
): void => {
  const body = new Body()
  const { socket } = incoming
  const wireStart = socket.bytesRead
  let holdsMore = false
  let pieces = 0
  incoming
    .on('data', (chunk: Buffer) => {
      const bytes = body.length + chunk.length
      if (bytes > freeBytes && !holdsMore) holdsMore = bytes <= bytesMax && mayHoldMore()
      if (bytes > bytesMax || (bytes > freeBytes && !holdsMore)) return fail()
      if (++pieces > piecesMax || socket.bytesRead - wireStart > wireBytesMax) return fail()
      onBytes()
      body.add(chunk)
    })
    .on('error', fail)
    .on('aborted', fail)
    .on('end', () => (incoming.complete ? done(body.bytes) : fail()))
}

/** A body that arrives in pieces. They are copied together: kept as it came, a piece of one byte takes a kilobyte. */
class Body {
  #held: Buffer = Buffer.alloc(0)
  /** The first piece is not ours, and is often the only one. */
  #isOurs = false
  length = 0

  get bytes(): Buffer {
    return this.#held.subarray(0, this.length)
  }

  add(piece: Buffer): void {
    const length = this.length + piece.length
    if (this.length === 0) this.#held = piece
    else {
      if (!this.#isOurs || length > this.#held.length) {
        const longer = Buffer.allocUnsafeSlow(2 * length)
        this.#held.copy(longer, 0, 0, this.length)
        this.#held = longer
        this.#isOurs = true
      }
      piece.copy(this.#held, this.length)
    }
    this.length = length
  }
}

const pairsOf = (raw: readonly string[]): Headers => {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}
