/** The head of a request in the form that nearly all requests have, and how long its body is. */
export type PlainHead = {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  /** Where the body begins; it ends with the bytes. */
  readonly bodyStart: number
}

const headBytesMax = 8_192
const endOfHead = '\r\n\r\n'
const requestLine = /^(GET|POST|PUT|PATCH|DELETE) (\/[\w/.~%!$&'()*+,;=:@?-]*) HTTP\/1\.1\r\n/
const field = /([A-Za-z0-9-]+): ?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n/y
const plainLength = /^(?:0|[1-9]\d{0,6})$/
/** They change how the bytes, the connection or the name itself are to be read, so Node reads them. */
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
 * Reads bytes that are one whole request and nothing else. Undefined where anything about them is unusual: part of a
 * request, more than one, a name twice, a chunked body, a byte that is not printable. What is undefined here is not
 * refused: Node's parser is asked, which knows all of HTTP. So this one may be strict, and must never
 * see a request otherwise than Node does.
 */
export const readPlainRequest = (bytes: Buffer): PlainHead | undefined => {
  const end = bytes.indexOf(endOfHead)
  if (end === -1 || end > headBytesMax) return undefined
  const head = bytes.toString('latin1', 0, end + 2)
  const line = requestLine.exec(head)
  if (line === null) return undefined
  const [{ length: lineLength }, method = '', url = ''] = line
  const headers = readFields(head, lineLength)
  if (headers === undefined || headers.host === undefined || !isPlain(headers)) return undefined
  const bodyStart = end + endOfHead.length
  const bodyBytes = headers['content-length'] ?? '0'
  if (!plainLength.test(bodyBytes) || bytes.length !== bodyStart + Number(bodyBytes)) return undefined
  if (method === 'GET' && bodyBytes !== '0') return undefined
  return { method, url, headers, bodyStart }
}

const readFields = (head: string, start: number): Record<string, string> | undefined => {
  const headers: Record<string, string> = {}
  for (let at = start; at < head.length; at = field.lastIndex) {
    field.lastIndex = at
    const match = field.exec(head)
    if (match === null) return undefined
    const name = (match[1] ?? '').toLowerCase()
    // Also what every object has, such as `constructor`.
    if (name in headers) return undefined
    headers[name] = match[2] ?? ''
  }
  return headers
}

const isPlain = (headers: Record<string, string>): boolean =>
  (headers.connection === undefined || headers.connection.toLowerCase() === 'keep-alive') &&
  special.every(name => headers[name] === undefined)
