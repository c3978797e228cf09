import { createHash } from 'node:crypto'
import type pg from 'pg'
import { CommitQueue } from '../commit-queue.ts'
import type { Store } from '../port.ts'
import type { TokenRow } from '../rows.ts'
import * as columns from '../sql/columns.ts'
import type { Sql } from '../sql/dialect.ts'
import type { SchemaState } from '../sql/migration.ts'
import { scanMatches, scanTerms } from '../sql/scans.ts'
import * as statements from '../sql/statements.ts'
import { countQuery, hasOneOf, pageQuery } from '../sql/token-query.ts'
import type { GuardedChange } from '../write-set.ts'
import { BatchWriter } from './batch-writer.ts'
import { Connection, type ConnectionSettings } from './connection.ts'
import { type List, numbered, postgresDialect } from './dialect.ts'
import { isDistributed } from './distribute.ts'
import { unavailable } from './failures.ts'
import { GrantsWatch } from './grants-watch.ts'
import { migrate, migrateDistributed, schemaState } from './migrate.ts'
import { ReadPool } from './read-pool.ts'
import { Succession } from './succession.ts'
import { UpkeepWrites } from './upkeep-writes.ts'

export type PostgresSettings = ConnectionSettings & {
  /** Connections of this node: one watches grants, up to four write, the others read. */
  readonly poolSize: number
}

/** Counters are spread over this many rows; two writers that share one only wait for each other. */
const counterShards = 32

/** The engine for many nodes: a PostgreSQL server, or several of which one takes writes. */
export const openPostgres = async ({ poolSize, ...given }: PostgresSettings): Promise<Store> => {
  const succession = new Succession()
  const isSharded = await prepare({ ...given, succession })
  const settings = { ...given, succession, plansPerValue: isSharded }
  const upkeepConnection = new Connection(settings)
  const writers = Array.from({ length: Math.max(1, Math.min(4, Math.floor(poolSize / 3))) }, () => {
    const connection = new Connection(settings)
    const counterShard = Math.floor(Math.random() * counterShards)
    return { connection, writer: new BatchWriter(connection, { counterShard, isSharded }) }
  })
  const reads = new ReadPool(settings, Math.max(1, poolSize - writers.length - 2))
  const watch = new GrantsWatch(settings, () => {
    // With one address there is nowhere else to go, and the server may still answer.
    if (given.address.hosts.length > 1) for (const line of lines) line.abandon()
  })
  const lines = [watch, reads, upkeepConnection, ...writers.map(({ connection }) => connection)]
  const upkeep = new UpkeepWrites(upkeepConnection, { isSharded })
  const queue = new CommitQueue(
    (sets, lane) => {
      const writer = writers[lane]?.writer
      if (writer === undefined) throw new Error('there is no such lane')
      return writer.commit(sets)
    },
    { lanes: writers.length, oneTenant: isSharded },
  )
  const close = async (): Promise<void> => {
    await queue.drain()
    await Promise.all(lines.map(line => line.close()))
  }
  await watch.start()

  const nameOf = statementNames()
  const ask = async <Row>(
    sql: string,
    values: readonly Asked[],
    rowMode?: 'array',
  ): Promise<readonly Row[]> => {
    if (values.some(value => typeof value === 'string' && !isStorable(value))) return []
    const storable = values.map(value => (isTexts(value) ? value.filter(isStorable) : value))
    const { rows } = await reads.query<Row>({ ...nameOf(sql), values: storable, ...(rowMode && { rowMode }) })
    return rows
  }
  const rowsOf = async <Row>(
    sql: string,
    values: readonly Asked[],
    toRow: (row: columns.Columns) => Row,
  ): Promise<Row[]> => (await ask<columns.Columns>(sql, values)).map(toRow)
  const rowOf = async <Row>(...asked: Parameters<typeof rowsOf<Row>>): Promise<Row | undefined> =>
    (await rowsOf(...asked))[0]
  const tokensOf = async (sql: string, values: readonly Asked[]): Promise<TokenRow[]> =>
    (await ask<columns.Value[]>(sql, values, 'array')).map(columns.tokenRow)
  /** After the writes that were asked for before it. */
  const drained = async <T>(work: () => Promise<T>): Promise<T> => {
    await queue.drain()
    return work()
  }

  return {
    commit: async set => {
      const outcome = await queue.add(set)
      // At once on this node: no request that is authenticated from now on meets the grants of before.
      if (outcome.committed && set.guarded.some(({ kind }) => changesGrants.has(kind))) watch.changed()
      return outcome
    },

    getToken: async (tenant, id) => (await tokensOf(statements.tokenById, [tenant, id]))[0],

    getTokens: async (tenant, ids) => {
      const rows = await ask<columns.Value[]>(tokensWithTransients, [tenant, ids, tenant, ids], 'array')
      const isTransient = (row: readonly columns.Value[]): boolean => row[2] === null
      return {
        rows: rows.filter(row => !isTransient(row)).map(columns.tokenRow),
        transients: rows
          .filter(isTransient)
          .map(([owner, tokenId, , , , field, , , expiresAt, , , sealed]) =>
            columns.transientRow({ tenant: owner, token_id: tokenId, field, expires_at: expiresAt, sealed }),
          ),
      }
    },

    listTokens: (query, page) => {
      const { sql, values } = pageQuery(query, page, postgresDialect)
      return tokensOf(sql, values)
    },

    countTokens: async query => {
      const { sql, values } = countQuery(query, postgresDialect)
      return Number(await rowOf(sql, values, row => row.n))
    },

    estimateTerms: (tenant, terms, limit) =>
      rowsOf(termEstimates, [tenant, limit, terms], row => Number(row.n)),

    oldestMatch: async (tenant, match, now) => {
      const { sql, values } = statements.oldestMatch(tenant, match, now, postgresDialect)
      return (await tokensOf(sql, values))[0]
    },

    matchHolder: (tenant, { term, tag }) =>
      rowOf(statements.matchHolder, [tenant, term, tag], row => String(row.token_id)),

    readCounts: async (tenant, names, now, terms) => {
      const { sql, values } = countsAtOnce(tenant, terms)
      const rows = await ask<columns.Columns>(sql, [tenant, names, now, tenant, ...values])
      return {
        counters: rows.filter(row => row.type === null).map(columns.counter),
        expired: new Map(
          rows.filter(row => row.type !== null).map(row => [String(row.type), Number(row.value)]),
        ),
      }
    },

    newestTokenAt: async () => {
      const at = await rowOf(statements.newestTokenAt, [], row => row.at)
      return at === undefined || at === null ? undefined : Number(at)
    },

    readCounters: (tenant, names) => rowsOf(countersByName, [tenant, names], columns.counter),

    listCounters: tenant => rowsOf(countersOf('TRUE'), [tenant], columns.counter),
    scanTokens: (tenant, after, limit) => tokensOf(statements.tokensBehind, [tenant, after ?? '', limit]),
    scanTerms: (...scan) => scanTerms(rowsOf, ...scan),
    scanMatches: (...scan) => scanMatches(rowsOf, ...scan),
    absentTerms: async (tenant, entries) => {
      const { rows } = await reads.query({
        text: absentTerms,
        values: [
          tenant,
          entries.map(({ term }) => term),
          entries.map(({ createdAt }) => createdAt),
          entries.map(({ tokenId }) => tokenId),
          entries.map(({ expiresAt }) => expiresAt),
          entries.map(({ tag }) => tag),
          entries.map(({ signature }) => signature),
        ],
      })
      return rows.flatMap(({ place }) => entries[Number(place) - 1] ?? [])
    },

    expiredTokens: (now, { offset, limit }) => tokensOf(statements.expiredTokens, [now, limit, offset]),

    purgeTransients: (now, limit) => drained(() => upkeep.purgeTransients(now, limit)),
    shred: () => upkeep.shred(),

    getResult: (tenant, hash, now) => rowOf(statements.resultByHash, [tenant, hash, now], columns.resultRow),

    getReport: (tenant, name) => rowOf(statements.reportByName, [tenant, name], columns.sealedBytes),
    purgeResults: (now, limit) => drained(() => upkeep.purgeResults(now, limit)),
    purgeDeadTenants: limit => drained(() => upkeep.purgeDeadTenants(limit)),

    createTenant: tenant => upkeep.createTenant(tenant),
    getTenant: tenant => rowOf(statements.tenantByNumber, [tenant], columns.tenantRow),
    listTenants: () => rowsOf(statements.allTenants, [], columns.tenantRow),
    tenantKeys: tenant => rowsOf(tenantKeys, [tenant], columns.keyRow),
    getApplication: (tenant, id) => rowOf(statements.applicationById, [tenant, id], columns.applicationRow),
    listApplications: tenant => rowsOf(statements.applicationsOfTenant, [tenant], columns.applicationRow),
    // Not joined: on Citus that would be a look at another node's copy of the keys, which may be a moment behind.
    listApiKeys: async tenant => {
      const [keys, uses] = await Promise.all([
        ask<columns.Columns>(apiKeysOfTenant, [tenant]),
        ask<columns.Columns>(keyUsesOfTenant, [tenant]),
      ])
      const lastUses = new Map(uses.map(({ hash, last_used_at }) => [hash, last_used_at]))
      return keys.map(key =>
        columns.usedApiKeyRow({ ...key, last_used_at: lastUses.get(key.hash_text) ?? null }),
      )
    },
    noteKeyUse: uses => upkeep.noteKeyUse(uses),
    grantsEpoch: () => watch.epoch(),
    findApiKey: (hash, now) => rowOf(statements.livingApiKey, [hash, now], columns.apiKeyRow),

    vaultKeys: () => rowsOf(statements.vaultKeys, [], columns.keyRow),
    ensureVaultKeys: keys => upkeep.ensureVaultKeys(keys),

    acquireLease: (lease, now) => upkeep.acquireLease(lease, now),
    releaseLease: lease => upkeep.releaseLease(lease),

    health: async () => {
      await ask(statements.health, [])
    },
    close,
  }
}

const changesGrants: ReadonlySet<GuardedChange['kind']> = new Set(['reviseTenant', 'insertTenantKey'])

/** Brings the schema up to date, and says whether rows are spread over the shards of Citus. */
const prepare = async (settings: ConnectionSettings): Promise<boolean> => {
  try {
    return await withClient(settings, async client => {
      await migrate(client)
      return isDistributed(client)
    })
  } catch (error) {
    throw unavailable('storage cannot be opened', error)
  }
}

/** How far the schema is, without changing it. */
export const postgresSchema = (settings: PostgresSettings): Promise<SchemaState> =>
  withClient(settings, schemaState)

/** Moves rows to the nodes that they belong on, which takes as long as there are rows. */
export const distributePostgres = (settings: PostgresSettings): Promise<void> =>
  withClient({ ...settings, statementTimeoutMs: distributeTimeoutMs }, migrateDistributed)

const distributeTimeoutMs = 24 * 3_600_000

/** Work on one connection, before anything else is done with storage. */
export const withClient = async <T>(
  settings: ConnectionSettings,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> => {
  const opened = Promise.withResolvers<pg.Client>()
  const connection = new Connection(settings, async client => opened.resolve(client))
  try {
    await connection.query({ text: 'SELECT 1' })
    return await work(await opened.promise)
  } finally {
    await connection.close()
  }
}

/** One statement, and so one moment. A transient field comes in the columns of a token that has no type. */
const tokensWithTransients = `
  SELECT ${columns.tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ANY (?)
  UNION ALL
  SELECT t.tenant, t.token_id, NULL, NULL, NULL, t.field, NULL, NULL, t.expires_at, NULL, NULL, t.sealed
  FROM transients t WHERE t.tenant = ? AND t.token_id = ANY (?)`

const countersOf = (condition: string): string =>
  `SELECT name, sum(value)::bigint AS value, max(at) AS at FROM counters
   WHERE tenant = ? AND ${condition} GROUP BY name`
const countersByName = countersOf('name = ANY (?)')

/** One statement, and so one moment. Counters come without a type. */
const countsAtOnce = (tenant: number, terms: readonly Uint8Array[] | undefined): Sql<List> => {
  const having = terms && hasOneOf(tenant, terms, postgresDialect)
  return {
    sql: `
      SELECT c.name, c.value, c.at, NULL AS type FROM (${countersByName}) c
      UNION ALL
      SELECT NULL, count(*), NULL, t.type FROM tokens t
      WHERE t.expires_at <= ? AND t.tenant = ? AND ${having?.sql ?? 'TRUE'} GROUP BY t.type`,
    values: having?.values ?? [],
  }
}

const absentTerms = `
  SELECT a.place FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[])
    WITH ORDINALITY a(term, created_at, token_id, expires_at, tag, signature, place)
  WHERE NOT EXISTS (SELECT 1 FROM terms t
    WHERE t.tenant = $1 AND t.term = a.term AND t.created_at = a.created_at AND t.token_id = a.token_id
      AND t.expires_at IS NOT DISTINCT FROM a.expires_at AND t.tag IS NOT DISTINCT FROM a.tag
      AND coalesce(t.signature, a.signature) IS NOT DISTINCT FROM a.signature)
  ORDER BY a.place`

const termEstimates = `
  SELECT (SELECT count(*) FROM (SELECT 1 FROM terms WHERE tenant = ? AND term = asked.term LIMIT ?) probe) AS n
  FROM unnest(?::bytea[]) WITH ORDINALITY asked(term, place) ORDER BY place`

const tenantKeys =
  'SELECT purpose, version, wrapped FROM tenant_keys WHERE tenant = ? ORDER BY purpose, version'

const apiKeysOfTenant = `SELECT ${statements.apiKeyColumns}, encode(k.hash, 'hex') AS hash_text
  FROM api_keys k WHERE k.tenant = ?`
const keyUsesOfTenant = "SELECT encode(hash, 'hex') AS hash, last_used_at FROM key_uses WHERE tenant = ?"

type Asked = columns.Value | List

const isTexts = (value: Asked): value is readonly string[] =>
  Array.isArray(value) && value.some(item => typeof item === 'string')

/** No text of PostgreSQL holds a zero, so nothing is found under one. */
const isStorable = (text: string): boolean => !text.includes('\0')

const namesMax = 500

/** Statements by name, so that the server parses and plans each once per connection; lists have many shapes. */
const statementNames = (): ((sql: string) => { text: string; name?: string }) => {
  const known = new Map<string, { text: string; name?: string }>()
  return sql => {
    const found = known.get(sql)
    if (found !== undefined) return found
    const text = numbered(sql)
    if (known.size >= namesMax) return { text }
    const named = { text, name: createHash('sha256').update(text).digest('base64url') }
    known.set(sql, named)
    return named
  }
}
