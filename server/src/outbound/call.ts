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
  /** Of the answer, once it is decoded, and before. */
  readonly answerBytes: number
  readonly wireBytes: number
}

/** An answer as it came. Its reason phrase and trailers are left behind. */
export type RawAnswer = { readonly status: number; readonly headers: Headers; readonly body: Buffer }

/** Heads of answers are at most this long. */
const headBytes = 32_768
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
  readonly signal: AbortSignal
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
    const end = (settle: () => void): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      settle()
    }
    const fail = (error: unknown): void =>
      end(() => {
        outgoing?.destroy()
        reject(error)
      })
    const failOf = (failure: OutboundFailure) => (): void =>
      fail(new OutboundError(failure, { sent, status }))
    const aborted = (): void => {
      const { reason } = signal
      fail(reason instanceof OutboundError ? new OutboundError(reason.failure, { sent, status }) : reason)
    }
    const allow = (ms: number): void => {
      clearTimeout(timer)
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
    signal.addEventListener('abort', aborted)
    if (signal.aborted) return aborted()
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
    bytesMax,
    freeBytes,
    mayHoldMore,
    onBytes,
    fail,
    done,
  }: {
    bytesMax: number
    freeBytes: number
    mayHoldMore: () => boolean
    onBytes: () => void
    fail: () => void
    done: (body: Buffer) => void
  },
): void => {
  const chunks: Buffer[] = []
  let bytes = 0
  let holdsMore = false
  incoming
    .on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > freeBytes && !holdsMore) holdsMore = bytes <= bytesMax && mayHoldMore()
      if (bytes > bytesMax || (bytes > freeBytes && !holdsMore)) return fail()
      onBytes()
      chunks.push(chunk)
    })
    .on('error', fail)
    .on('aborted', fail)
    .on('end', () => (incoming.complete ? done(Buffer.concat(chunks)) : fail()))
}

const pairsOf = (raw: readonly string[]): Headers => {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? ''])
  return pairs
}
