import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type pg from 'pg'
import type { DatabaseAddress } from './database-url.ts'
import type { Failover } from './failover.ts'

export type ConnectionSettings = {
  readonly address: DatabaseAddress
  /** Read for each new connection, so that a password can be changed without a restart. */
  readonly passwordFile?: string
  /** PEM; without it, the certificates that Node trusts. */
  readonly ca?: string
  readonly statementTimeoutMs: number
  /** Whether the server may plan for the given values. Citus must, because the values tell it the shard. */
  readonly plansPerValue?: boolean
  /** Whether it writes to the tables of shards of Citus, with functions of its own (shard-writing.ts). */
  readonly writesShards?: boolean
  /** How long a transaction may sit idle. If its COMMIT is lost on the way, the server holds its locks for this long. */
  readonly standstillMaxMs?: number
  /** Shared by all connections that must agree on the primary. */
  readonly failover?: Failover
}

/** The name under which servers list our connections. */
export const applicationName = 'strongroom'

const connectTimeoutMs = 5_000
/** Added to the statement timeout: a server that does not even report the timeout is gone. */
const answerGraceMs = 5_000
/** Short enough that no firewall in between forgets an idle connection. */
const keepAliveMs = 30_000

/**
 * All queries are index look-ups. The planner has no statistics for a table that was empty when it last looked, so these settings
 * keep it from reading whole tables.
 */
export const plannerSettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  enable_hashagg: 'off',
  enable_sort: 'off',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
}

/** What the driver is told for a connection to one of the servers. */
export const clientConfig = (
  {
    address,
    passwordFile,
    ca,
    statementTimeoutMs,
    standstillMaxMs,
    plansPerValue = false,
    writesShards = false,
  }: ConnectionSettings,
  { host, port }: DatabaseAddress['hosts'][number],
): pg.ClientConfig => {
  const ssl = tlsOptions(address.sslmode, host, ca)
  const session = {
    ...plannerSettings,
    plan_cache_mode: plansPerValue ? 'auto' : 'force_generic_plan',
    default_transaction_isolation: 'read committed',
    // A policy on a table could hide rows, such as a key from its revocation. With this setting, a query that it affects fails.
    row_security: 'off',
    // The format that the type parser reads.
    bytea_output: 'hex',
    ...(writesShards && {
      'citus.enable_manual_changes_to_shards': 'on',
      'citus.enable_ddl_propagation': 'off',
    }),
  }
  return {
    host,
    port,
    user: address.user,
    database: address.database,
    ...(passwordFile === undefined
      ? address.password !== undefined && { password: address.password }
      : { password: () => readFileSync(passwordFile, 'utf8').trimEnd() }),
    ssl: ssl ?? false,
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + answerGraceMs,
    ...(standstillMaxMs !== undefined && { idle_in_transaction_session_timeout: standstillMaxMs }),
    application_name: applicationName,
    types: { getTypeParser: typeParser },
    options: Object.entries(session)
      .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
      .join(' '),
  } as pg.ClientConfig
}

const tlsOptions = (
  mode: DatabaseAddress['sslmode'],
  host: string,
  ca: string | undefined,
): ConnectionOptions | undefined => {
  switch (mode) {
    case 'disable':
      return undefined
    case 'require':
      // As in libpq, a CA is there to be verified with.
      return ca === undefined ? { rejectUnauthorized: false } : tlsOptions('verify-ca', host, ca)
    case 'verify-ca':
      return { ...(ca !== undefined && { ca }), checkServerIdentity: () => undefined }
    case 'verify-full':
      return { ...(ca !== undefined && { ca }), host }
  }
}

/** By PostgreSQL's type numbers, for the columns that are read. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: text => text === 't',
  17: text => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
}

/** An integer too large for a double becomes a number that columns.ts refuses. Other types stay text. */
export const typeParser = (type: number): ((text: string) => unknown) => parsers[type] ?? (text => text)
