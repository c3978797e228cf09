import { resolve } from 'node:path'

/** Settings of one process. Only the edge reads the environment. */
export type Config = {
  readonly dataFolder: string
  readonly host: string
  readonly port: number
  readonly logLevel: LogLevel
  /** The first word of our own headers: `svc` gives SVC-API-KEY, SVC-TRACE-ID (C4). */
  readonly headerPrefix: string
  readonly idempotencyStrict: boolean
  readonly rateLimit: { readonly perSecond: number; readonly burst: number } | undefined
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

export class ConfigError extends Error {}

export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => ({
  dataFolder: resolve(environment.STRONGROOM_DATA || '.strongroom'),
  host: environment.STRONGROOM_HOST || '127.0.0.1',
  port: readPort(environment.STRONGROOM_PORT || '8080'),
  logLevel: readLogLevel(environment.STRONGROOM_LOG_LEVEL || 'info'),
  headerPrefix: readHeaderPrefix(environment.STRONGROOM_HEADER_PREFIX || 'SVC'),
  idempotencyStrict: false,
  rateLimit: undefined,
})

const readPort = (text: string): number => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535)) throw new ConfigError('STRONGROOM_PORT must be a port number from 0 to 65535')
  return port
}

const readLogLevel = (text: string): LogLevel => {
  const level = logLevels.find(known => known === text)
  if (level === undefined)
    throw new ConfigError(`STRONGROOM_LOG_LEVEL must be one of ${logLevels.join(', ')}`)
  return level
}

const readHeaderPrefix = (text: string): string => {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text))
    throw new ConfigError('STRONGROOM_HEADER_PREFIX must be letters, digits and dashes, at most 32')
  return text.toLowerCase()
}
