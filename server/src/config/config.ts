import { resolve } from 'node:path'
import type { SetLimits } from '../domain/limits.ts'
import type { Rate } from '../domain/rate-buckets.ts'
import type { OutboundRules } from '../outbound/outbound-rules.ts'
import { type DatabaseConfig, readDatabase } from './database-config.ts'
import { type Given, ifGiven } from './given.ts'
import {
  readAllowed,
  readAnchors,
  readChoice,
  readHeaderPrefix,
  readHost,
  readLimits,
  readNetworks,
  readNumber,
  readOrigins,
  readPorts,
  readRateLimit,
  readServers,
  readWhole,
} from './readers.ts'
import { type KeyProviderName, keyProviderNames, type LogLevel, logLevels } from './settings.ts'
import { givenSettings, type Sources } from './sources.ts'
import { readTls, type TlsFiles } from './tls-files.ts'

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
  /** Addresses and networks, such as 10.0.0.0/8, of proxies that say where requests come from (L2). */
  readonly trustedProxies: readonly string[]
  readonly idempotencyStrict: boolean
  readonly rateLimit: Rate | undefined
  /** Limits of the interface that the operator has changed (C8). */
  readonly limits: SetLimits
  readonly keyProvider: KeyProviderName | undefined
  readonly masterKeyFile: string | undefined
  readonly masterKey: Given | undefined
  readonly tls: TlsFiles | undefined
  /** Where metrics are served; undefined: nowhere. */
  readonly metrics: MetricsConfig | undefined
  /** Processes that share the port in production; undefined: as many as the machine has cores. */
  readonly workers: number | undefined
  readonly drainTimeoutMs: number
  /** L4: files that the checkpoints of the log are appended to. */
  readonly auditAnchors: readonly string[]
  /** L7: how long records of the log are kept. */
  readonly auditRetentionDays: number
  /** U17: what the vault may call when a tenant says so. */
  readonly outbound: OutboundRules & {
    /** DNS servers, as addresses with ports; empty: the system's. */
    readonly dns: readonly string[]
    readonly caFile: string | undefined
  }
}

export type MetricsConfig = {
  readonly host: string
  readonly port: number
  readonly tokenFile: string | undefined
}

export const readConfig = (
  sources: Sources & {
    /** For a command that uses both a folder and a database. */
    readonly takesBothStorages?: boolean
  },
): Config => {
  const { find, settled, path, storage } = givenSettings(sources)
  const { data, 'database-url': url } = sources.takesBothStorages
    ? { data: find('data'), 'database-url': find('database-url') }
    : storage()
  return {
    dataFolder: ifGiven(data, ({ text }) => resolve(text)),
    database: readDatabase(url, {
      passwordFile: path('database-password-file'),
      caFile: path('database-ca'),
      poolSize: readWhole(settled('database-pool'), 4, 1_000),
      statementTimeoutMs: readNumber(settled('database-statement-timeout'), 1, 3_600) * 1_000,
    }),
    host: readHost(settled('host')),
    port: readWhole(settled('port'), 0, 65_535),
    logLevel: readChoice(settled('log-level'), logLevels),
    headerPrefix: readHeaderPrefix(settled('header-prefix')),
    corsOrigins: readOrigins(find('cors-origins')),
    trustedProxies: readNetworks(find('trusted-proxies')),
    idempotencyStrict: readChoice(settled('idempotency-strict'), ['true', 'false']) === 'true',
    rateLimit: readRateLimit(find('rate-limit'), find('rate-limit-burst')),
    limits: readLimits(find('limits')),
    keyProvider: ifGiven(find('key-provider'), given => readChoice(given, keyProviderNames)),
    masterKeyFile: path('master-key-file'),
    masterKey: find('master-key'),
    tls: readTls(path('tls-cert'), path('tls-key'), path('tls-client-ca')),
    metrics: ifGiven(find('metrics-port'), given => ({
      host: readHost(settled('metrics-host')),
      port: readWhole(given, 0, 65_535),
      tokenFile: path('metrics-token-file'),
    })),
    workers: ifGiven(find('workers'), given => readWhole(given, 1, 256)),
    drainTimeoutMs: readNumber(settled('drain-timeout'), 0, 3_600) * 1_000,
    auditAnchors: readAnchors(find('audit-anchors')),
    auditRetentionDays: readWhole(settled('audit-retention-days'), 90, 3_650),
    outbound: {
      allow: readAllowed(find('outbound-allow')),
      deny: readNetworks(find('outbound-deny')),
      ports: readPorts(find('outbound-ports')),
      dns: readServers(find('outbound-dns')),
      caFile: path('outbound-ca'),
    },
  }
}
