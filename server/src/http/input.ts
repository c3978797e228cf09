import type { Endpoint } from '../contract/endpoint.ts'
import type { QueryPair } from '../contract/query-pairs.ts'
import { type Issue, invalid, requireNone, VaultError } from '../domain/errors.ts'
import { parseJson } from '../domain/json/parse-json.ts'
import { limits } from '../domain/limits.ts'
import type { Exchange } from './exchange.ts'

/** Checks what the headers say about the body before it is read. Throws 415 or 413. */
export const requireBodyForm = (
  { headers, bodyBytes }: Pick<Exchange, 'headers' | 'bodyBytes'>,
  { bodyType, bodyIsOptional }: Endpoint,
): void => {
  if (bodyType === undefined) return
  const {
    'content-type': type,
    'content-encoding': encoding,
    'transfer-encoding': transfer,
    'content-length': length,
  } = headers
  const isEmpty = length === undefined ? transfer === undefined : length === '0'
  if (bodyIsOptional === true && isEmpty) return
  if (type !== bodyType && type?.split(';', 1)[0]?.trim().toLowerCase() !== bodyType)
    throw new VaultError('unsupportedMediaType', { detail: `The Content-Type must be ${bodyType}.` })
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new VaultError('unsupportedMediaType', {
      detail: 'The body must be sent without a Content-Encoding.',
    })
  // Node removes the chunking and leaves the content as it is.
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked')
    throw new VaultError('unsupportedMediaType', {
      detail: 'The Transfer-Encoding must be chunked, or none.',
    })
  if (bodyBytes > limits.bodyBytes) throw new VaultError('bodyTooLarge')
}

/** Parses the bytes into a value of the endpoint's shape. Throws 400. */
export const readBody = (endpoint: Endpoint, bytes: Uint8Array | undefined): unknown => {
  if (endpoint.checkBody === undefined || bytes === undefined) return undefined
  if (bytes.length === 0 && endpoint.bodyIsOptional === true) return {}
  const issues: Issue[] = []
  const checked = endpoint.checkBody(parseJson(bytes), '', issues)
  requireNone(issues)
  return checked
}

/** Splits the query string into pairs, in the order in which they were sent. `+` is a space, as in forms. */
export const readQuery = (url: string): QueryPair[] => {
  const start = url.indexOf('?')
  if (start === -1 || start === url.length - 1) return []
  return url
    .slice(start + 1)
    .split('&')
    .filter(part => part !== '')
    .map(part => {
      const equals = part.indexOf('=')
      return equals === -1
        ? { name: decode(part), value: '' }
        : { name: decode(part.slice(0, equals)), value: decode(part.slice(equals + 1)) }
    })
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid({ path: '$', message: 'the query string is not valid percent-encoded UTF-8' })
  }
}
