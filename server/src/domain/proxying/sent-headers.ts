/** Headers in order, as they are on the wire; a name may come more than once. */
export type HeaderPair = readonly [name: string, value: string]

/** What a header with our name in it says: the request has come through a vault before. */
export const ownVia = 'strongroom'

/** Belong to one connection (RFC 9110, 7.6.1). */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]
/** What the vault says itself, what proxies in front of it said about the caller, and what a browser would send by itself. */
const notSent = new Set([
  ...hopByHop,
  'host',
  'content-length',
  'expect',
  'accept-encoding',
  'cookie',
  'forwarded',
  'x-real-ip',
])
const notSentPrefixes = ['x-forwarded-', 'cf-']
/** What a destination may not say in the vault's name: to browsers, about the connection, or about the vault. */
const notReturned = new Set([
  ...hopByHop,
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'alt-svc',
  'clear-site-data',
  'cache-control',
  'content-length',
])
const notReturnedPrefixes = ['access-control-']

/** The headers of a request that go on to the destination, before their expressions are evaluated (U13). */
export const headersToSend = (
  headers: readonly HeaderPair[],
  { headerPrefix, secrets }: { headerPrefix: string; secrets: readonly string[] },
): HeaderPair[] =>
  without(headers, notSent, [...notSentPrefixes, `${headerPrefix}-`]).filter(
    ([, value]) => !secrets.some(secret => value.includes(secret)),
  )

/** The headers of an answer that go back to the caller. */
export const headersToReturn = (
  headers: readonly HeaderPair[],
  { headerPrefix }: { headerPrefix: string },
): HeaderPair[] => without(headers, notReturned, [...notReturnedPrefixes, `${headerPrefix}-`])

const without = (
  headers: readonly HeaderPair[],
  names: ReadonlySet<string>,
  prefixes: readonly string[],
): HeaderPair[] => {
  const ofConnection = new Set(
    valuesOf(headers, 'connection').flatMap(value => value.split(',').map(name => name.trim().toLowerCase())),
  )
  return headers.filter(([name]) => {
    const lower = name.toLowerCase()
    return !names.has(lower) && !ofConnection.has(lower) && !prefixes.some(prefix => lower.startsWith(prefix))
  })
}

export const valuesOf = (headers: readonly HeaderPair[], wanted: string): string[] =>
  headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)

export const valueOfHeader = (headers: readonly HeaderPair[], wanted: string): string | undefined => {
  const values = valuesOf(headers, wanted)
  return values.length === 0 ? undefined : values.join(', ')
}

/** Whether a request has come through a vault before: then it may well go round for ever. */
export const hasOwnVia = (headers: readonly HeaderPair[]): boolean =>
  valuesOf(headers, 'via').some(value =>
    value
      .toLowerCase()
      .split(',')
      .some(hop => hop.trim().split(/\s+/)[1] === ownVia),
  )

/** What nobody else may say about the call. */
const says = new Set([...hopByHop, 'host', 'content-length', 'expect', 'accept-encoding', 'via'])

/** All headers of a call: what the caller sent, and what the vault says itself. */
export const completeHeaders = (
  headers: readonly HeaderPair[],
  { host, method, bodyBytes }: { host: string; method: string; bodyBytes: number | undefined },
): HeaderPair[] => [
  ['Host', host],
  // Once more: a transform of the proxy may have added any header.
  ...headers.filter(([name]) => !says.has(name.toLowerCase())),
  ['Accept-Encoding', 'identity'],
  ['Via', [...valuesOf(headers, 'via'), `1.1 ${ownVia}`].join(', ')],
  ...(bodyBytes !== undefined || ['POST', 'PUT', 'PATCH'].includes(method)
    ? [['Content-Length', String(bodyBytes ?? 0)] as const]
    : []),
]
