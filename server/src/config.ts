import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * Settings of one process, from flags, STRONGROOM_* variables or a JSON config file, in that order (C35).
 * Only the edge reads the environment.
 */
export type Config = {
  readonly dataFolder: string | undefined
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  /** The first word of our own headers: `svc` gives SVC-API-KEY, SVC-TRACE-ID (C4). */
  readonly headerPrefix: string
  /** Origins that browsers may call from, with keys of public applications only; empty: CORS is off. */
  readonly corsOrigins: readonly string[]
  readonly idempotencyStrict: boolean
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | undefined
  readonly keyProvider: 'file' | 'env' | undefined
  readonly masterKeyFile: string | undefined
  /** Never a flag: a command line is public. */
  readonly masterKey: string | undefined
  readonly tls: TlsFiles | undefined
  readonly drainTimeoutMs: number
}

export type TlsFiles = { readonly cert: string; readonly key: string; readonly clientCa: string | undefined }

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** What is wrong with the settings, in one line; the process ends with exit code 2. */
export class ConfigError extends Error {}

/** One setting, as flag, variable and key of the config file: `log-level`, STRONGROOM_LOG_LEVEL, `logLevel`. */
export type Setting = { readonly name: string; readonly help: string; readonly flag?: false }

export const settings: readonly Setting[] = [
  { name: 'data', help: 'folder of the embedded store' },
  { name: 'host', help: 'address to listen on (127.0.0.1)' },
  { name: 'port', help: 'port to listen on (8080)' },
  { name: 'log-level', help: `${logLevels.join(', ')} (info)` },
  { name: 'header-prefix', help: 'first word of the headers (SVC)' },
  { name: 'cors-origins', help: 'origins for browsers with public keys, separated by commas (none)' },
  { name: 'idempotency-strict', help: 'true: a reused key with another body is answered 422 (false)' },
  { name: 'rate-limit', help: 'requests per second and API key (off)' },
  { name: 'rate-limit-burst', help: 'requests that may come at once (the rate)' },
  { name: 'key-provider', help: 'file or env' },
  { name: 'master-key-file', help: 'file of the master key, mode 0600, for the provider file' },
  { name: 'master-key', help: 'the master key itself, for the provider env', flag: false },
  { name: 'tls-cert', help: 'certificate chain (PEM); read again on SIGHUP' },
  { name: 'tls-key', help: 'private key (PEM); read again on SIGHUP' },
  { name: 'tls-client-ca', help: 'clients must show a certificate of this CA (PEM)' },
  { name: 'drain-timeout', help: 'seconds that requests in flight have on SIGTERM (10)' },
]

export const readConfig = (sources: {
  flags: Readonly<Record<string, string | undefined>>
  environment: Readonly<Record<string, string | undefined>>
}): Config => {
  const file = readConfigFile(sources.flags.config ?? sources.environment.STRONGROOM_CONFIG)
  const get = (name: string): string | undefined =>
    sources.flags[name] ?? (sources.environment[variableName(name)] || undefined) ?? file.get(camelCase(name))
  const path = (name: string): string | undefined => {
    const text = get(name)
    return text === undefined ? undefined : resolve(text)
  }
  return {
    dataFolder: path('data'),
    host: get('host') ?? '127.0.0.1',
    port: readPort(get('port') ?? '8080'),
    logLevel: readChoice('log-level', get('log-level'), logLevels) ?? 'info',
    headerPrefix: readHeaderPrefix(get('header-prefix') ?? 'SVC'),
    corsOrigins: readOrigins(get('cors-origins')),
    idempotencyStrict:
      readChoice('idempotency-strict', get('idempotency-strict'), ['true', 'false']) === 'true',
    rateLimit: readRateLimit(get('rate-limit'), get('rate-limit-burst')),
    keyProvider: readChoice('key-provider', get('key-provider'), ['file', 'env']),
    masterKeyFile: path('master-key-file'),
    masterKey: get('master-key'),
    tls: readTls(path('tls-cert'), path('tls-key'), path('tls-client-ca')),
    drainTimeoutMs: readNumber('drain-timeout', get('drain-timeout') ?? '10', 0, 3_600) * 1_000,
  }
}

export const variableName = (name: string): string => `STRONGROOM_${name.replaceAll('-', '_').toUpperCase()}`

const camelCase = (name: string): string =>
  name.replace(/-(\w)/g, (_all, letter: string) => letter.toUpperCase())

const readConfigFile = (path: string | undefined): ReadonlyMap<string, string> => {
  if (path === undefined) return new Map()
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw new ConfigError(`the config file ${path} cannot be read as JSON`)
  }
  const known = new Set(settings.map(({ name }) => camelCase(name)))
  const entries = Object.entries(content as Record<string, unknown>)
  for (const [key] of entries)
    if (!known.has(key)) throw new ConfigError(`the config file ${path} has an unknown setting: ${key}`)
  return new Map(entries.map(([key, value]) => [key, Array.isArray(value) ? value.join(',') : String(value)]))
}

const readNumber = (name: string, text: string, min: number, max: number): number => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new ConfigError(`${variableName(name)} must be a number from ${min} to ${max}`)
  return value
}

const readPort = (text: string): number => {
  const port = readNumber('port', text, 0, 65_535)
  if (!Number.isInteger(port)) throw new ConfigError('STRONGROOM_PORT must be a whole number')
  return port
}

const readChoice = <const V extends readonly string[]>(
  name: string,
  text: string | undefined,
  choices: V,
): V[number] | undefined => {
  if (text === undefined || choices.includes(text)) return text
  throw new ConfigError(`${variableName(name)} must be one of ${choices.join(', ')}`)
}

const readHeaderPrefix = (text: string): string => {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text))
    throw new ConfigError('STRONGROOM_HEADER_PREFIX must be letters, digits and dashes, at most 32')
  return text.toLowerCase()
}

const readOrigins = (text: string | undefined): string[] => {
  const origins = (text ?? '').split(',').filter(origin => origin !== '')
  for (const origin of origins)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new ConfigError('STRONGROOM_CORS_ORIGINS must be origins such as https://shop.example')
  return origins
}

const readRateLimit = (rate: string | undefined, burst: string | undefined): Config['rateLimit'] => {
  if (rate === undefined) return undefined
  const perSecond = readNumber('rate-limit', rate, 0.001, 1_000_000)
  return {
    perSecond,
    burst: burst === undefined ? Math.max(1, perSecond) : readNumber('rate-limit-burst', burst, 1, 1_000_000),
  }
}

const readTls = (
  cert: string | undefined,
  key: string | undefined,
  clientCa: string | undefined,
): TlsFiles | undefined => {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined
  if (cert === undefined || key === undefined)
    throw new ConfigError('TLS needs both STRONGROOM_TLS_CERT and STRONGROOM_TLS_KEY')
  return { cert, key, clientCa }
}
