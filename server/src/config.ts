import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { didYouMean } from './domain/did-you-mean.ts'
import { foreignCode } from './domain/errors.ts'
import { ceilings, contradiction, type SetLimits } from './domain/limits.ts'
import type { Rate } from './domain/rate-buckets.ts'
import { type DatabaseAddress, DatabaseUrlError, parseDatabaseUrl } from './store/postgres/database-url.ts'

/**
 * Settings of one process, from flags, STRONGROOM_* variables or a JSON config file, in that order (C35).
 * Only the edge reads the environment.
 */
export type Config = {
  readonly dataFolder: string | undefined
  /** A PostgreSQL server; undefined: the embedded store in the data folder. */
  readonly database: DatabaseConfig | undefined
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  /** The first word of our own headers: `svc` gives SVC-API-KEY, SVC-TRACE-ID (C4). */
  readonly headerPrefix: string
  /** Origins that browsers may call from, with keys of public applications only; empty: CORS is off. */
  readonly corsOrigins: readonly string[]
  readonly idempotencyStrict: boolean
  readonly rateLimit: Rate | undefined
  /** Limits of the interface that are not to be the usual ones (C8). */
  readonly limits: SetLimits
  readonly keyProvider: 'file' | 'env' | undefined
  readonly masterKeyFile: string | undefined
  /** Never a flag: a command line is public. */
  readonly masterKey: string | undefined
  readonly tls: TlsFiles | undefined
  /** Processes that share the port in production; undefined: as many as the machine has cores. */
  readonly workers: number | undefined
  readonly drainTimeoutMs: number
}

export type DatabaseConfig = {
  readonly address: DatabaseAddress
  readonly passwordFile: string | undefined
  readonly caFile: string | undefined
  readonly poolSize: number
  readonly statementTimeoutMs: number
}

export type TlsFiles = { readonly cert: string; readonly key: string; readonly clientCa: string | undefined }

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** What is wrong with the settings, in one line; the process ends with exit code 2. */
export class ConfigError extends Error {}

/** One setting, as flag, variable and key of the config file: `log-level`, STRONGROOM_LOG_LEVEL, `logLevel`. */
export type Setting = {
  readonly name: string
  readonly help: string
  /** What it is where nobody says otherwise, as text. */
  readonly fallback?: string
  readonly flag?: false
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
  { name: 'log-level', help: logLevels.join(', '), fallback: 'info' },
  { name: 'header-prefix', help: 'first word of the headers', fallback: 'SVC' },
  { name: 'cors-origins', help: 'origins for browsers with public keys, separated by commas (none)' },
  {
    name: 'idempotency-strict',
    help: 'true: a reused key with another body is answered 422',
    fallback: 'false',
  },
  { name: 'rate-limit', help: 'requests per second and API key (off)' },
  { name: 'rate-limit-burst', help: 'requests that may come at once (the rate)' },
  { name: 'limits', help: 'limits of the interface, such as bodyBytes=4194304,jsonDepth=64' },
  { name: 'key-provider', help: 'file or env' },
  { name: 'master-key-file', help: 'file of the master key, mode 0600, for the provider file' },
  { name: 'master-key', help: 'the master key itself, for the provider env', flag: false },
  { name: 'tls-cert', help: 'certificate chain (PEM); read again on SIGHUP' },
  { name: 'tls-key', help: 'private key (PEM); read again on SIGHUP' },
  { name: 'tls-client-ca', help: 'clients must show a certificate of this CA (PEM)' },
  { name: 'workers', help: 'processes that share the port (the number of cores)' },
  { name: 'drain-timeout', help: 'seconds that requests in flight have on SIGTERM', fallback: '10' },
] as const satisfies readonly Setting[]

export const settings: readonly Setting[] = declared
export type SettingName = (typeof declared)[number]['name']
/** Those that always have a value. */
type SettledName = Extract<(typeof declared)[number], { fallback: string }>['name']

/** A setting that was given, and where: its place is what a complaint names. */
type Given = { readonly text: string; readonly place: string }

const fallbacks = Object.fromEntries(
  settings.flatMap(({ name, fallback }) =>
    fallback === undefined ? [] : [[name, { text: fallback, place: name }]],
  ),
) as Readonly<Record<SettledName, Given>>

export const readConfig = (sources: {
  flags: Readonly<Record<string, string | undefined>>
  environment: Readonly<Record<string, string | undefined>>
  /** Settings that a command takes under a flag of its own, such as --to. */
  spelled?: Readonly<Record<string, string>>
  /** A folder and a database are one setting with two spellings, unless a command has a use for both. */
  takesBothStorages?: boolean
}): Config => {
  const { flags, environment, spelled = {}, takesBothStorages = false } = sources
  /** A shell makes `--data "$UNSET"` of a forgotten variable; that is not the current folder. */
  const fromFlag = (name: string): Given | undefined => {
    const own = spelled[name]
    const flag = own !== undefined && flags[own] !== undefined ? own : name
    if (flag === own && flags[name] !== undefined)
      throw new ConfigError(`--${own} and --${name} are one setting: leave one out`)
    const text = flags[flag]
    if (text === '') throw new ConfigError(`--${flag} is empty`)
    return text === undefined ? undefined : { text, place: `--${flag}` }
  }
  /** An empty variable is one that was not set. */
  const fromVariable = (name: string): Given | undefined => {
    const place = variableName(name)
    const text = environment[place]
    return text === undefined || text === '' ? undefined : { text, place }
  }
  const file = readConfigFile((fromFlag('config') ?? fromVariable('config'))?.text)
  const fromFile = (name: string): Given | undefined => file.get(name)
  const given = (name: SettingName): Given | undefined =>
    fromFlag(name) ?? fromVariable(name) ?? fromFile(name)
  const storage = (): Partial<Record<'data' | 'database-url', Given>> => {
    for (const from of [fromFlag, fromVariable, fromFile]) {
      const [data, url] = [from('data'), from('database-url')]
      if (data !== undefined && url !== undefined)
        throw new ConfigError(`${data.place} and ${url.place} both say where the vault is: leave one out`)
      if (data !== undefined) return { data }
      if (url !== undefined) return { 'database-url': url }
    }
    return {}
  }
  const settled = (name: SettledName): Given => given(name) ?? fallbacks[name]
  const path = (name: SettingName): string | undefined => {
    const text = given(name)?.text
    return text === undefined ? undefined : resolve(text)
  }
  const { data, 'database-url': url } = takesBothStorages
    ? { data: given('data'), 'database-url': given('database-url') }
    : storage()
  return {
    dataFolder: ifGiven(data, ({ text }) => resolve(text)),
    database: readDatabase(url, {
      passwordFile: path('database-password-file'),
      caFile: path('database-ca'),
      poolSize: readWhole(settled('database-pool'), 4, 1_000),
      statementTimeoutMs: readNumber(settled('database-statement-timeout'), 1, 3_600) * 1_000,
    }),
    // An IPv6 address may stand in brackets, as in a URL.
    host: settled('host').text.replace(/^\[(.*)\]$/, '$1'),
    port: readWhole(settled('port'), 0, 65_535),
    logLevel: readChoice(settled('log-level'), logLevels),
    headerPrefix: readHeaderPrefix(settled('header-prefix')),
    corsOrigins: readOrigins(given('cors-origins')),
    idempotencyStrict: readChoice(settled('idempotency-strict'), ['true', 'false']) === 'true',
    rateLimit: readRateLimit(given('rate-limit'), given('rate-limit-burst')),
    limits: readLimits(given('limits')),
    keyProvider: ifGiven(given('key-provider'), text => readChoice(text, ['file', 'env'])),
    masterKeyFile: path('master-key-file'),
    masterKey: given('master-key')?.text,
    tls: readTls(path('tls-cert'), path('tls-key'), path('tls-client-ca')),
    workers: ifGiven(given('workers'), text => readWhole(text, 1, 256)),
    drainTimeoutMs: readNumber(settled('drain-timeout'), 0, 3_600) * 1_000,
  }
}

export const variableName = (name: string): string => `STRONGROOM_${name.replaceAll('-', '_').toUpperCase()}`

/** How the primary tells a worker which one it is; no setting. */
export const workerNumberVariable = 'STRONGROOM_WORKER_NUMBER'

/** One line about variables that look like settings and are none. Other programs may use the prefix, so nothing is refused. */
export const warnOfUnknown = (
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const known = [...settings.map(({ name }) => name), 'config'].map(variableName)
  const unknown = Object.keys(environment)
    .filter(name => /^STRONGROOM_\w+$/.test(name) && !known.includes(name) && name !== workerNumberVariable)
    .sort()
    .map(name => {
      const suggestion = didYouMean(name, known)
      return suggestion === undefined ? name : `${name} (did you mean ${suggestion}?)`
    })
  return unknown.length === 0 ? undefined : `ignored, because there is no such setting: ${unknown.join(', ')}`
}

const camelCase = (name: string): string =>
  name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'cannot be read: this user may not',
  EISDIR: 'is a folder',
}
/** Why a file that the settings name could not be read, to stand behind its name. */
export const unreadable = (error: unknown): string =>
  reasons[foreignCode(error)] ?? `cannot be read (${foreignCode(error)})`

const readConfigFile = (path: string | undefined): ReadonlyMap<string, Given> => {
  if (path === undefined) return new Map()
  const fault = (text: string): ConfigError => new ConfigError(`the config file ${path} ${text}`)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw fault(unreadable(error))
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    // Where, and no more: the engine's message quotes the file, which may hold the master key.
    const [place = ''] = /\(line \d+ column \d+\)$/.exec(error instanceof Error ? error.message : '') ?? []
    throw fault(`is not JSON ${place}`.trimEnd())
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw fault('must hold a JSON object')
  const names = new Map(settings.map(({ name }) => [camelCase(name), name]))
  const given = new Map<string, Given>()
  for (const [key, value] of Object.entries(content)) {
    const name = names.get(key)
    if (name === undefined) {
      const suggestion = didYouMean(key, [...names.keys()])
      throw fault(
        `has an unknown setting: ${key}${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`,
      )
    }
    const asGiven = asText(name, value)
    if (!['string', 'number', 'boolean'].includes(typeof asGiven))
      throw fault(`must have text, a number, true or false as ${key}`)
    // As for a flag: an empty host would be all interfaces, an empty path the current folder.
    if (value === '') throw fault(`has nothing as ${key}`)
    given.set(name, { text: String(asGiven), place: `${key} in ${path}` })
  }
  // The same promise as for a file of the master key alone.
  const isOpen = (statSync(path).mode & 0o077) !== 0
  if (given.has('master-key') && isOpen)
    throw fault(`holds the master key and is open to others: run chmod 600 ${path}`)
  if (/:[^/@]*@/.test(given.get('database-url')?.text ?? '') && isOpen)
    throw fault(`holds the password of the database and is open to others: run chmod 600 ${path}`)
  return given
}

/** Lists and objects as the text that a flag would have. */
const asText = (name: string, value: unknown): unknown => {
  if (name === 'cors-origins' && Array.isArray(value)) return value.join(',')
  if (name !== 'limits' || typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(pair => pair.join('='))
    .join(',')
}

const ifGiven = <T>(given: Given | undefined, read: (given: Given) => T): T | undefined =>
  given === undefined ? undefined : read(given)

const readNumber = ({ text, place }: Given, min: number, max: number): number => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new ConfigError(`${place} must be a number from ${min} to ${max}`)
  return value
}

const readWhole = (given: Given, min: number, max: number): number => {
  const value = readNumber(given, min, max)
  if (!Number.isInteger(value)) throw new ConfigError(`${given.place} must be a whole number`)
  return value
}

const readChoice = <const V extends readonly string[]>({ text, place }: Given, choices: V): V[number] => {
  if (choices.includes(text)) return text
  throw new ConfigError(`${place} must be one of ${choices.join(', ')}`)
}

const readHeaderPrefix = ({ text, place }: Given): string => {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text))
    throw new ConfigError(`${place} must be letters, digits and dashes, at most 32, and start with a letter`)
  return text.toLowerCase()
}

const readOrigins = (given: Given | undefined): string[] => {
  const origins = (given?.text ?? '')
    .split(',')
    .map(origin => origin.trim())
    .filter(origin => origin !== '')
  for (const origin of origins)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new ConfigError(`${given?.place} must be origins such as https://shop.example`)
  return origins
}

const readRateLimit = (rate: Given | undefined, burst: Given | undefined): Config['rateLimit'] => {
  const perSecond = ifGiven(rate, given => readNumber(given, 0.001, 1_000_000))
  const atOnce = ifGiven(burst, given => readNumber(given, 1, 1_000_000))
  if (perSecond !== undefined) return { perSecond, burst: atOnce ?? Math.max(1, perSecond) }
  if (burst !== undefined) throw new ConfigError(`${burst.place} needs a rate limit beside it`)
  return undefined
}

const readLimits = (given: Given | undefined): SetLimits => {
  // `"limits": {}` in the config file
  if (given === undefined || given.text === '') return {}
  const { text, place } = given
  const wanted: Record<string, number> = {}
  for (const pair of text.split(',')) {
    const [, name = '', value = ''] = /^\s*(\w+)\s*=\s*(\S*)\s*$/.exec(pair) ?? []
    const most = Object.hasOwn(ceilings, name) ? ceilings[name as keyof typeof ceilings] : undefined
    if (most === undefined)
      throw new ConfigError(`${place} can set ${Object.keys(ceilings).join(', ')}, each as name=number`)
    if (!/^[1-9]\d*$/.test(value) || Number(value) > most)
      throw new ConfigError(`${place} must have a whole number from 1 to ${most} as ${name}`)
    wanted[name] = Number(value)
  }
  const fault = contradiction(wanted)
  if (fault !== undefined) throw new ConfigError(`${place} must keep this true: ${fault}`)
  return wanted
}

const readDatabase = (
  url: Given | undefined,
  rest: Omit<DatabaseConfig, 'address'>,
): DatabaseConfig | undefined => {
  if (url === undefined) return undefined
  let address: DatabaseAddress
  try {
    address = parseDatabaseUrl(url.text)
  } catch (error) {
    if (error instanceof DatabaseUrlError) throw new ConfigError(`${url.place} ${error.message}`)
    throw error
  }
  if (address.password !== undefined && url.place.startsWith('--'))
    throw new ConfigError(
      `${url.place} holds a password, and a command line is public: set ${variableName('database-url')} or ${variableName('database-password-file')}`,
    )
  return { address, ...rest }
}

const readTls = (
  cert: string | undefined,
  key: string | undefined,
  clientCa: string | undefined,
): TlsFiles | undefined => {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined
  if (cert === undefined)
    throw new ConfigError('TLS has no certificate: set --tls-cert or STRONGROOM_TLS_CERT beside the rest')
  if (key === undefined)
    throw new ConfigError('TLS has no private key: set --tls-key or STRONGROOM_TLS_KEY beside the rest')
  return { cert, key, clientCa }
}
