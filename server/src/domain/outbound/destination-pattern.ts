import {
  type DestinationOrFault,
  type DestinationUrl,
  destinationPathFault,
  formFault,
  type OutboundPorts,
  readAuthority,
  standardPort,
} from './destination-url.ts'

/** Where a rule counts (U11): `https://host[:port]/path/`, or `https://*.host/`. */
export type DestinationPattern = Pick<DestinationUrl, 'host' | 'port' | 'path'> & {
  /** Any name below `host`, and never `host` itself. */
  readonly isWildcard: boolean
}

export const readDestinationPattern = (
  text: string,
  ports: OutboundPorts,
): DestinationOrFault<DestinationPattern> => {
  const fault = formFault(text)
  if (fault !== undefined) return { fault }
  const [, star, authority = '', path = ''] = /^https:\/\/(\*\.)?([^/?]*)(.*)$/i.exec(text) ?? []
  const place = readAuthority(authority, ports)
  if (typeof place === 'string') return { fault: place }
  if (/[?*]/.test(path)) return { fault: 'must not have a query, nor * after the host' }
  const pathFault = destinationPathFault(path)
  if (pathFault !== undefined) return { fault: pathFault }
  if (!path.endsWith('/')) return { fault: 'must end with a slash' }
  const isWildcard = star !== undefined
  if (isWildcard && (path !== '/' || authority.includes(':')))
    return { fault: 'with * must be https://*.host/, without port and path' }
  const { host, port } = place
  return { url: { host, port, path, isWildcard } }
}

export const formatDestinationPattern = ({ host, port, path, isWildcard }: DestinationPattern): string =>
  `https://${isWildcard ? '*.' : ''}${host}${port === standardPort ? '' : `:${port}`}${path}`

/** Whether a pattern covers where a request finally goes: same origin, and a path that begins with all segments of the pattern's. */
export const isUnder = (
  { host, port, path, isWildcard }: DestinationPattern,
  url: Pick<DestinationUrl, 'host' | 'port' | 'path'>,
): boolean =>
  url.port === port &&
  (isWildcard ? url.host.endsWith(`.${host}`) && url.host.length > host.length + 1 : url.host === host) &&
  url.path.startsWith(path)
