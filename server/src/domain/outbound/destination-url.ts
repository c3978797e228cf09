/** Where the vault sends a request on a tenant's word (U10). Every part is as it will be sent. */
export type DestinationUrl = {
  /** In lower case. */
  readonly host: string
  readonly port: number
  /** `https://host`, with the port unless it is 443. */
  readonly origin: string
  /** Begins with a slash. */
  readonly path: string
  /** Without its question mark; undefined if there is none. */
  readonly query: string | undefined
}

export type DestinationOrFault<T> =
  | { readonly url: T; readonly fault?: undefined }
  | { readonly url?: undefined; readonly fault: string }

/** Ports besides 443 that the operator allows. */
export type OutboundPorts = Pick<ReadonlySet<number>, 'has'>

export const destinationCharactersMax = 2_048
export const standardPort = 443

/**
 * Reads the URL of a destination. It is not given to a lenient parser first, which would turn `https:\\127.1` into an address: what is
 * not plainly the form that U10 allows is refused.
 */
export const readDestinationUrl = (
  text: string,
  ports: OutboundPorts,
): DestinationOrFault<DestinationUrl> => {
  const fault = formFault(text)
  if (fault !== undefined) return { fault }
  const [, authority = '', path = '', query] = /^https:\/\/([^/?]*)([^?]*)(?:\?(.*))?$/i.exec(text) ?? []
  const place = readAuthority(authority, ports)
  if (typeof place === 'string') return { fault: place }
  const pathFault = destinationPathFault(path)
  if (pathFault !== undefined) return { fault: pathFault }
  return { url: { ...place, path: path === '' ? '/' : path, query } }
}

/** What is wrong with a whole URL, before its parts are looked at. The texts repeat nothing of it. */
export const formFault = (text: string): string | undefined => {
  if (text.length > destinationCharactersMax)
    return `must have at most ${destinationCharactersMax} characters`
  if (!/^[!-~]*$/.test(text)) return 'must be visible ASCII: percent-encode all other characters'
  if (!/^https:\/\//i.test(text)) return 'must start with https://'
  if (text.includes('\\')) return 'must not have a backslash'
  if (text.includes('#')) return 'must not have a fragment'
  if (text.includes('{{')) return 'must not have an expression'
  return undefined
}

/** The host and port, or what is wrong with them. */
export const readAuthority = (
  authority: string,
  ports: OutboundPorts,
): Pick<DestinationUrl, 'host' | 'port' | 'origin'> | string => {
  if (authority.includes('@')) return 'must not have a user name or password'
  const [, hostText = '', portText] = /^(.*?)(?::(\d{0,6}))?$/.exec(authority) ?? []
  const host = hostText.toLowerCase()
  if (!isDnsName(host))
    return 'must name its host by a DNS name with a dot, such as api.example.com, not by an address'
  if (portText !== undefined && !/^[1-9]\d{0,4}$/.test(portText)) return 'must have a valid port'
  const port = portText === undefined ? standardPort : Number(portText)
  if (port !== standardPort && !ports.has(port))
    return 'must use port 443, or one that the operator of this vault allows'
  return { host, port, origin: `https://${host}${port === standardPort ? '' : `:${port}`}` }
}

/**
 * The last label begins with a letter: URL parsers take a name whose last label is a number, `0x7f` too, for an IPv4 address. A name in
 * another script is written in its ASCII form, `xn--…`.
 */
const isDnsName = (host: string): boolean =>
  host.length <= 253 &&
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(host)

/**
 * What makes a path mean another place to a destination than it does here: then a rule for `/v1/` would say nothing. Encodings of
 * encodings count, and so does `..;`, because some servers cut a segment at its semicolon before they look at it.
 */
export const destinationPathFault = (path: string): string | undefined => {
  if (!/^[!-~]*$/.test(path)) return 'must be visible ASCII: percent-encode all other characters'
  if (/[\\#?]/.test(path)) return 'must not have a backslash, a fragment or a second question mark'
  if (/%(?![0-9a-f]{2})/i.test(path)) return 'must have two hexadecimal digits after each %'
  if (path.includes('//')) return 'must not have two slashes in a row'
  if (/%(?:25)*(?:2f|5c|[01][0-9a-f]|7f)/i.test(path))
    return 'must not have an encoded slash, backslash or control character'
  if (path.split('/').some(isDotSegment)) return 'must not have a segment of dots'
  return undefined
}

const isDotSegment = (segment: string): boolean =>
  /^\.\.?(?:;|$)/.test(segment.replace(/%(?:25)*2e/gi, '.').replace(/%(?:25)*3b/gi, ';'))

/**
 * A destination's URL and what an invocation adds to it: base without trailing slashes, suffix, queries in order. Undefined if the
 * suffix is one that must not be sent. The suffix is raw, and is empty or begins with a slash.
 */
export const joinDestination = (
  base: DestinationUrl,
  suffix: string,
  query: string | undefined,
): DestinationUrl | undefined => {
  if (suffix !== '' && !suffix.startsWith('/')) return undefined
  if (destinationPathFault(suffix) !== undefined) return undefined
  const path = suffix === '' ? base.path : base.path.replace(/\/+$/, '') + suffix
  const queries = [base.query, query].filter(each => each !== undefined && each !== '')
  return { ...base, path, query: queries.length === 0 ? undefined : queries.join('&') }
}

/** The target of the request to it. */
export const targetOf = ({ path, query }: DestinationUrl): string =>
  query === undefined ? path : `${path}?${query}`
