import { limits } from '../../domain/limits.ts'
import { pace } from '../../domain/pace.ts'

/** A request in the form of nearly all requests: its head, and where its body begins. */
export type PlainRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Where the body begins. It reaches to the end of the bytes. */
  readonly bodyStart: number
}

/** The fields between the request line and the body. */
type KnownFields = {
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytes: number
}

/** How many variants of its fields are remembered per connection, and how long one may be. Few need more than 300 bytes. */
const knownMax = 8
const knownBytesMax = 1_024
/** Longer heads are rare. Node reads them, and refuses those that are too long (431). */
const headBytesMax = Math.min(8_192, limits.headBytes)
const endOfLine = '\r\n'
const endOfHead = '\r\n\r\n'
const requestLine = /^(GET|POST|PUT|PATCH|DELETE) (\/[\w/.~%!$&'()*+,;=:@?-]*) HTTP\/1\.1\r\n$/
const field = /([A-Za-z0-9-]+): ?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y
const plainLength = /^(?:0|[1-9]\d{0,6})$/
/** Fields that change how the bytes, the connection or the field itself must be read. Node reads them. */
const special = [
  'transfer-encoding',
  'expect',
  'upgrade',
  'trailer',
  'te',
  'keep-alive',
  'proxy-connection',
  'set-cookie',
]

/**
 * Reads bytes that are exactly one request, or the head of one whose short body follows, because many clients send the two
 * separately. Returns `undefined` for anything unusual: a part of a request, more than one, a repeated field, a chunked body, an
 * unprintable byte. Such bytes are not refused but go to Node's parser, which knows all of HTTP. So this reader may be strict,
 * but must never read a request differently from Node. Each connection has its own reader. Clients repeat their fields, except
 * for the length of the body, and fields that repeat byte for byte are not parsed again.
 */
export class PlainRequestReader {
  /** The latest first. */
  readonly #known: KnownFields[] = []

  read(bytes: Buffer): PlainRequest | 'head' | undefined {
    for (const known of this.#known) {
      const request = requestWith(known, bytes)
      if (request !== undefined) return request
    }
    if (this.#known.some(known => isHeadWith(known, bytes))) return 'head'
    const fields = findFields(bytes)
    if (fields === undefined) return undefined
    const read = requestWith(fields, bytes) ?? (isHeadWith(fields, bytes) ? 'head' : undefined)
    if (read !== undefined) this.#remember(fields)
    return read
  }

  #remember(fields: KnownFields): void {
    if (fields.text.length > knownBytesMax) return
    this.#known.unshift(fields)
    if (this.#known.length > knownMax) this.#known.pop()
  }
}

/** Returns the request if exactly these fields stand between its first line and its body. */
const requestWith = ({ text, headers, bodyBytes }: KnownFields, bytes: Buffer): PlainRequest | undefined => {
  const bodyStart = bytes.length - bodyBytes
  const line = lineBefore(text, bytes, bodyStart)
  return line === null ? undefined : { method: line[1] ?? '', url: line[2] ?? '', headers, bodyStart }
}

/** Whether the bytes are the head of a request with these fields whose body follows. */
const isHeadWith = ({ text, bodyBytes }: KnownFields, bytes: Buffer): boolean =>
  bodyBytes > 0 && bodyBytes <= pace.shortBodyBytesMax && lineBefore(text, bytes, bytes.length) !== null

/** Matches the first line of a request if exactly these fields stand between it and the end of the head. */
const lineBefore = (fields: string, bytes: Buffer, headEnd: number): RegExpExecArray | null => {
  const start = headEnd - fields.length
  if (start <= 0 || headEnd > headBytesMax) return null
  const head = bytes.toString('latin1', 0, headEnd)
  // Not `endsWith`, which V8 compiles to a comparison character by character: 2 µs instead of 0.1.
  return head.slice(start) === fields ? requestLine.exec(head.slice(0, start)) : null
}

const findFields = (bytes: Buffer): KnownFields | undefined => {
  const lineEnd = bytes.indexOf(endOfLine)
  const headEnd = bytes.indexOf(endOfHead)
  if (headEnd <= lineEnd) return undefined
  const [start, end] = [lineEnd + endOfLine.length, headEnd + endOfHead.length]
  const text = bytes.toString('latin1', start, end)
  const headers = readFields(text.slice(0, -endOfLine.length))
  if (headers === undefined || headers.host === undefined || !isPlain(headers)) return undefined
  const length = headers['content-length'] ?? '0'
  if (!plainLength.test(length)) return undefined
  // Frozen, because later requests share the same headers.
  return { text, headers: Object.freeze(headers), bodyBytes: Number(length) }
}

const readFields = (lines: string): Record<string, string> | undefined => {
  const headers: Record<string, string> = {}
  for (let at = 0; at < lines.length; at = field.lastIndex) {
    field.lastIndex = at
    const match = field.exec(lines)
    if (match === null) return undefined
    const name = (match[1] ?? '').toLowerCase()
    // Includes names that every object has, such as `constructor`.
    if (name in headers) return undefined
    headers[name] = match[2] ?? ''
  }
  return headers
}

const isPlain = (headers: Record<string, string>): boolean =>
  (headers.connection === undefined || headers.connection.toLowerCase() === 'keep-alive') &&
  special.every(name => headers[name] === undefined)
