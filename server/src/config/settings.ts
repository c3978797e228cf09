import { didYouMean } from '../domain/text/did-you-mean.ts'

export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export const keyProviderNames = ['file', 'env'] as const
export type KeyProviderName = (typeof keyProviderNames)[number]

/** One setting, as flag, variable and key of the config file: `log-level`, STRONGROOM_LOG_LEVEL, `logLevel`. */
export type Setting = {
  readonly name: string
  readonly help: string
  /** The default, as text. */
  readonly fallback?: string
  /** All that it may be, if that is one of a few words. */
  readonly values?: readonly string[]
  /** Not taken as a flag: others can read a command line. */
  readonly isSecret?: true
}

const declared = [
  { name: 'data', help: 'folder of the embedded store' },
  { name: 'database-url', help: 'postgres://user@host/name, in place of the embedded store' },
  { name: 'database-password-file', help: 'file that holds the password of the database, mode 0600' },
  { name: 'database-ca', help: 'the database must show a certificate of this CA (PEM)' },
  { name: 'database-pool', help: 'connections of each process to the database', fallback: '10' },
  { name: 'database-statement-timeout', help: 'seconds that a statement may take', fallback: '10' },
  { name: 'host', help: 'address to listen on', fallback: '127.0.0.1' },
  { name: 'port', help: 'port to listen on', fallback: '8080' },
  { name: 'log-level', help: logLevels.join(', '), fallback: 'info', values: logLevels },
  { name: 'header-prefix', help: 'first word of the headers', fallback: 'SVC' },
  { name: 'cors-origins', help: 'origins whose pages may use public keys, comma-separated (none)' },
  {
    name: 'trusted-proxies',
    help: 'addresses and networks whose X-Forwarded-For is believed, comma-separated (none)',
  },
  {
    name: 'idempotency-strict',
    help: 'true: answer 422 to a key reused with another body',
    fallback: 'false',
    values: ['true', 'false'],
  },
  { name: 'rate-limit', help: 'requests per second per API key (off)' },
  { name: 'rate-limit-burst', help: 'requests that may come at once (the rate)' },
  { name: 'limits', help: 'limits of the interface, such as bodyBytes=4194304,jsonDepth=64' },
  { name: 'key-provider', help: keyProviderNames.join(' or '), values: keyProviderNames },
  { name: 'master-key-file', help: 'file of the master key, mode 0600, for the provider file' },
  { name: 'master-key', help: 'the master key itself, for the provider env', isSecret: true },
  { name: 'tls-cert', help: 'certificate chain (PEM); read again on SIGHUP' },
  { name: 'tls-key', help: 'private key (PEM); read again on SIGHUP' },
  { name: 'tls-client-ca', help: 'clients must show a certificate of this CA (PEM)' },
  { name: 'metrics-port', help: 'port to serve metrics on, for Prometheus (off)' },
  { name: 'metrics-host', help: 'address to serve them on', fallback: '127.0.0.1' },
  {
    name: 'metrics-token-file',
    help: 'file with the token that the scraper must show (Authorization: Bearer), mode 0600 (none)',
  },
  { name: 'workers', help: 'processes that share the port (the number of cores)' },
  { name: 'drain-timeout', help: 'seconds that requests in flight have on SIGTERM', fallback: '10' },
  {
    name: 'audit-anchors',
    help: "file:/path on another disk, comma-separated, to append the log's signed checkpoints to (none)",
  },
  { name: 'audit-retention-days', help: 'days that records of the log are kept', fallback: '400' },
  {
    name: 'outbound-allow',
    help: 'networks that are not public but may be called, such as 10.1.0.0/16:8443, comma-separated (none)',
  },
  { name: 'outbound-deny', help: 'networks that may never be called, comma-separated (none)' },
  { name: 'outbound-ports', help: 'ports that may be called besides 443, comma-separated (none)' },
  { name: 'outbound-dns', help: "servers that resolve destinations, such as 192.0.2.53:53 (the system's)" },
  { name: 'outbound-ca', help: 'CAs of destinations (PEM), besides those that Node trusts' },
] as const satisfies readonly Setting[]

export const settings: readonly Setting[] = declared
export type SettingName = (typeof declared)[number]['name']
/** Settings that always have a value. */
export type SettledName = Extract<(typeof declared)[number], { fallback: string }>['name']

export const variableName = (name: string): string => `STRONGROOM_${name.replaceAll('-', '_').toUpperCase()}`

/** `log-level` is `logLevel` in the config file. */
export const configKey = (name: string): string =>
  name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())

/** The variable in which the primary tells a process that it is a worker, and which. Not a setting. */
export const workerVariable = 'STRONGROOM_WORKER_START'

/** One line about variables that look like settings but are not. Other programs may use the prefix, so nothing is refused. */
export const warnOfUnknown = (
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const known = [...settings.map(({ name }) => name), 'config'].map(variableName)
  const unknown = Object.keys(environment)
    .filter(name => /^STRONGROOM_\w+$/.test(name) && !known.includes(name) && name !== workerVariable)
    .sort()
    .map(name => name + didYouMean(name, known))
  return unknown.length === 0 ? undefined : `ignored, because there is no such setting: ${unknown.join(', ')}`
}
