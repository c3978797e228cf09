import { limits } from '../../domain/limits.ts'

/** The head of a request in the form that nearly all requests have, and where its body begins. */
export type PlainHead = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Where the body begins; it goes on to the end of the bytes. */
  readonly bodyStart: number
}

/** The fields between the request line and the body. */
type KnownFields = {
  readonly bytes: Buffer
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytes: number
}

/** How many variants of its fields are remembered per connection, and how long one may be: few need more than 300 bytes. */
const knownMax = 8
const knownBytesMax = 1_024
/** Longer heads are rare and left to Node, which refuses those that are too long (431). */
const headBytesMax = Math.min(8_192, limits.headBytes)
const endOfLine = '\r\n'
const endOfHead = '\r\n\r\n'
const requestLine = /^(GET|POST|PUT|PATCH|DELETE) (\/[\w/.~%!$&'()*+,;=:@?-]*) HTTP\/1\.1\r\n$/
const field = /([A-Za-z0-9-]+): ?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y
const plainLength = /^(?:0|[1-9]\d{0,6})$/
/** Fields that change how the bytes, the connection or the field itself must be read, so Node reads them. */
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
 * Reads bytes that are one whole request and nothing else. Returns undefined if anything about them is unusual: part of a
 * request, more than one, a repeated field, a chunked body, an unprintable byte. Such bytes are not refused but go to Node's
 * parser, which knows all of HTTP. So this reader may be strict, but must never read a request differently from Node. Each
 * connection has its own: clients send the same fields with every request, save for the length of the body, and fields that are
 * the same to the byte as lately are not parsed again.
 */
export class PlainRequestReader {
  /** The last learnt first. */
  readonly #known: KnownFields[] = []

  read(bytes: Buffer): PlainHead | undefined {
    for (const known of this.#known) {
      const head = headWith(known, bytes)
      if (head !== undefined) return head
    }
    const fields = findFields(bytes)
    if (fields === undefined) return undefined
    const head = headWith(fields, bytes)
    if (head !== undefined) this.#remember(fields)
    return head
  }

  #remember({ bytes, ...fields }: KnownFields): void {
    if (bytes.length > knownBytesMax) return
    // Copied, so that the body behind them is not kept, and not into the pool, of which each copy would keep 64 KiB.
    const copy = Buffer.allocUnsafeSlow(bytes.length)
    copy.set(bytes)
    this.#known.unshift({ bytes: copy, ...fields })
    if (this.#known.length > knownMax) this.#known.pop()
  }
}

/** The head of the request, if these fields stand right between its first line and its body. */
const headWith = (
  { bytes: fields, headers, bodyBytes }: KnownFields,
  bytes: Buffer,
): PlainHead | undefined => {
  const bodyStart = bytes.length - bodyBytes
  const start = bodyStart - fields.length
  if (start <= 0 || bodyStart > headBytesMax) return undefined
  if (bytes.compare(fields, 0, fields.length, start, bodyStart) !== 0) return undefined
  const line = requestLine.exec(bytes.toString('latin1', 0, start))
  return line === null ? undefined : { method: line[1] ?? '', url: line[2] ?? '', headers, bodyStart }
}

const findFields = (bytes: Buffer): KnownFields | undefined => {
  const lineEnd = bytes.indexOf(endOfLine)
  const headEnd = bytes.indexOf(endOfHead)
  if (headEnd <= lineEnd) return undefined
  const [start, end] = [lineEnd + endOfLine.length, headEnd + endOfHead.length]
  const headers = readFields(bytes.toString('latin1', start, end - endOfLine.length))
  if (headers === undefined || headers.host === undefined || !isPlain(headers)) return undefined
  const length = headers['content-length'] ?? '0'
  if (!plainLength.test(length) || bytes.length !== end + Number(length)) return undefined
  // Frozen, because later requests get the same headers.
  return {
    bytes: bytes.subarray(start, end),
    headers: Object.freeze(headers),
    bodyBytes: Number(length),
  }
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
