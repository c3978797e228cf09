import { isIP } from 'node:net'

/** Where the database is and how to talk to it, parsed from `postgres://user:password@host:port/name?sslmode=…`. */
export type DatabaseAddress = {
  /** In the order in which they are tried. Of several, the one that takes writes is used. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly user: string
  readonly password: string | undefined
  readonly database: string
  readonly sslmode: SslMode
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const
export type SslMode = (typeof sslModes)[number]

/** Says what is wrong with the address without quoting any of it: it may hold a password. */
export class DatabaseUrlError extends Error {}

/** Listing several hosts, as in `postgres://one:5432,two:5432/name`, is what allows a failover without a restart. */
export const parseDatabaseUrl = (
  text: string,
  { hasCa = false }: { readonly hasCa?: boolean } = {},
): DatabaseAddress => {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?#]*)(.*)$/s.exec(text)
  if (parts === null) throw new DatabaseUrlError('must start with postgres://')
  const [, head = '', hostList = '', tail = ''] = parts
  // One of these signs would cut a password in two. Part of it would be taken for a host or a database and appear in messages.
  if (/[?#]/.test(head) || `${hostList}${tail}`.includes('@'))
    throw new DatabaseUrlError('must have its user and password percent-encoded: %40 for @, %2F for /')
  const urls = hostList.split(',').map(host => {
    const url = `${head}${host === '' || host.startsWith(':') ? 'localhost' : ''}${host}${tail}`
    if (!URL.canParse(url)) throw new DatabaseUrlError('is not an address')
    return new URL(url)
  })
  const [url] = urls
  if (url === undefined) throw new DatabaseUrlError('is not an address')
  for (const name of url.searchParams.keys())
    if ((name !== 'sslmode' && name !== 'host') || url.searchParams.getAll(name).length > 1)
      throw new DatabaseUrlError('may have sslmode and host as parameters, each once, and no others')
  const socket = url.searchParams.get('host')
  const hosts = urls.map(({ hostname, port }) => ({
    // The folder of a socket may also stand in place of the host, as %2Frun.
    host: socket ?? decode(hostname.replace(/^\[|\]$/g, '')),
    port: port === '' ? 5_432 : Number(port),
  }))
  const database = decode(url.pathname.slice(1))
  if (database === '') throw new DatabaseUrlError('must name a database, as in postgres://host/name')
  if (url.username === '') throw new DatabaseUrlError('must name a user, as in postgres://user@host/name')
  return {
    hosts,
    user: decode(url.username),
    password: url.password === '' ? undefined : decode(url.password),
    database,
    sslmode: readSslMode(url.searchParams.get('sslmode'), hosts, hasCa),
  }
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new DatabaseUrlError('has a part that is not percent-encoded')
  }
}

/**
 * By default, a connection that leaves this machine is encrypted and the server's identity is verified. An operator who names a CA
 * wants the server verified, wherever it is.
 */
const readSslMode = (text: string | null, hosts: DatabaseAddress['hosts'], hasCa: boolean): SslMode => {
  if (hasCa && hosts.some(({ host }) => isSocket(host)))
    throw new DatabaseUrlError('names a socket, which has no TLS: leave out --database-ca')
  if (text === null) return !hasCa && hosts.every(({ host }) => isLocal(host)) ? 'disable' : 'verify-full'
  const mode = sslModes.find(known => known === text)
  if (mode === undefined) throw new DatabaseUrlError(`must have one of ${sslModes.join(', ')} as sslmode`)
  if (hasCa && mode === 'disable')
    throw new DatabaseUrlError('has sslmode=disable, and --database-ca needs TLS: leave out one of them')
  return mode
}

const isSocket = (host: string): boolean => host.startsWith('/')

const isLocal = (host: string): boolean =>
  host === 'localhost' || isSocket(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
