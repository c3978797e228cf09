import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import pg from 'pg'
import type { Store } from '../../src/store/port.ts'
import { typeParser } from '../../src/store/postgres/client-config.ts'
import { numbered } from '../../src/store/postgres/dialect.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { citusServers } from './citus-cluster.ts'
import { isLong } from './long-run.ts'
import { databaseOf, settingsOf } from './postgres-databases.ts'
import { settleAll } from './settle-all.ts'
import { filesOf } from './traces.ts'

/** Every engine that the vault can run on; suites run once for each. `folder` is the engine's to fill. */
export type Engine = {
  readonly name: 'sqlite' | 'postgres' | 'citus'
  readonly open: (folder: string) => Promise<Store>
  /** Bypasses the vault, like an attacker who holds the storage but no key. */
  readonly reach: (folder: string, ...statement: Statement) => Promise<StoredRow[]>
  /** The rows of each of these statements. */
  readonly reachAll: (folder: string, statements: readonly Statement[]) => Promise<StoredRow[][]>
  /** A query for the names of its tables. */
  readonly tables: string
  /** Tables whose rows differ from the other engine's table of that name, and what to read instead. */
  readonly views: Readonly<Record<string, string>>
  /** Where the bytes of transient fields and tenant keys are stored, and how to overwrite them there. */
  readonly transientBytes: BytesByPlace
  readonly keyBytes: BytesByPlace & { readonly column: string }
  /** The table that records when keys were last used. */
  readonly keyUses: string
  /** Everything that storage holds, as bytes, by the name of the place. */
  readonly content: (folder: string) => Promise<Map<string, Buffer>>
}

type BytesByPlace = { readonly read: string; readonly write: string }

type Statement = readonly [sql: string, ...values: SQLInputValue[]]

export type StoredRow = Record<string, SQLOutputValue>

export const sqlite: Engine = {
  name: 'sqlite',
  // Few enough that entries of the index are moved in every longer test.
  open: async folder => openSqlite({ path: join(folder, 'vault.db'), waitingMax: 24 }),
  reach: async (folder, ...statement) => (await sqlite.reachAll(folder, [statement]))[0] ?? [],
  // One connection for all: each reads the whole schema first, which takes longer than most statements.
  reachAll: async (folder, statements) => {
    const database = new DatabaseSync(join(folder, 'vault.db'), { timeout: 5_000 })
    try {
      // Whoever reaches for the index finds every entry in its place, as on the other engine.
      if (statements.some(([sql]) => /\bterms\b/.test(sql))) settleAll(database)
      return statements.map(([sql, ...values]) => database.prepare(sql).all(...values))
    } finally {
      database.close()
    }
  },
  tables: "SELECT name FROM sqlite_master WHERE type = 'table'",
  views: {},
  transientBytes: {
    read: 'SELECT slot AS place, bytes FROM transients JOIN slots USING (slot) WHERE token_id = ?',
    write: 'UPDATE slots SET bytes = ? WHERE slot = ?',
  },
  keyBytes: {
    read: 'SELECT slot AS place, bytes FROM tenant_keys JOIN slots USING (slot) WHERE tenant = ?',
    write: 'UPDATE slots SET bytes = ? WHERE slot = ?',
    column: 'slot',
  },
  keyUses: 'api_keys',
  content: async folder =>
    new Map([...filesOf(folder)].filter(([path]) => basename(path).startsWith('vault.db'))),
}

/** One connection per database: opening one costs the server more than most queries do. */
const reaches = new Map<string, Promise<pg.Client>>()

const reachFor = (connectionString: string): Promise<pg.Client> => {
  const known = reaches.get(connectionString)
  if (known !== undefined) return known
  const client = new pg.Client({ connectionString, types: { getTypeParser: typeParser as never } })
  const forget = (): void => void reaches.delete(connectionString)
  client.on('error', forget)
  client.on('end', forget)
  const opening = client.connect().then(() => client)
  reaches.set(connectionString, opening)
  opening.catch(forget)
  return opening
}

export const postgres: Engine = {
  name: 'postgres',
  open: async folder => openPostgres(settingsOf(await databaseOf(folder))),
  reach: async (folder, sql, ...values) => {
    const client = await reachFor(await databaseOf(folder))
    const socket = client.connection.stream as Socket
    socket.ref()
    try {
      return (await client.query(numbered(sql), values.map(asText))).rows
    } finally {
      socket.unref()
    }
  },
  reachAll: (folder, statements) => oneByOne(statements, statement => postgres.reach(folder, ...statement)),
  tables: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  views: {
    counters:
      '(SELECT tenant, name, sum(value)::bigint AS value, max(at) AS at FROM counters GROUP BY 1, 2 ORDER BY 1, 2) spread',
  },
  transientBytes: {
    read: 'SELECT ROW(tenant, token_id, field)::text AS place, sealed AS bytes FROM transients WHERE token_id = ?',
    write: 'UPDATE transients SET sealed = ? WHERE ROW(tenant, token_id, field)::text = ?',
  },
  keyBytes: {
    read: 'SELECT ROW(tenant, purpose, version)::text AS place, wrapped AS bytes FROM tenant_keys WHERE tenant = ?',
    write: 'UPDATE tenant_keys SET wrapped = ? WHERE ROW(tenant, purpose, version)::text = ?',
    column: 'wrapped',
  },
  keyUses: 'key_uses',
  // Its rows: the files are the server's, and shared by all tests.
  content: async folder => {
    const tables = await postgres.reach(folder, postgres.tables)
    const content = new Map<string, Buffer>()
    for (const { name } of tables) {
      const rows = await postgres.reach(folder, `SELECT * FROM ${name}`)
      const values = rows.flatMap(row => Object.values(row)).filter(value => value !== null)
      content.set(
        String(name),
        Buffer.concat(values.map(value => Buffer.from(value instanceof Uint8Array ? value : String(value)))),
      )
    }
    return content
  },
}

/** Bytes as text: in binary form, eight of them would pass for a number. */
const asText = (value: SQLInputValue): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value

/** PostgreSQL whose rows are spread over the nodes of Citus. */
const citus: Engine = {
  ...postgres,
  name: 'citus',
  // Shards answer in any order; equal rows should look equal.
  reach: async (...asked) =>
    (await postgres.reach(...asked)).sort((a, b) => (inText(a) < inText(b) ? -1 : 1)),
  reachAll: (folder, statements) => oneByOne(statements, statement => citus.reach(folder, ...statement)),
}

const oneByOne = async (
  statements: readonly Statement[],
  reach: (statement: Statement) => Promise<StoredRow[]>,
): Promise<StoredRow[][]> => {
  const rows: StoredRow[][] = []
  for (const statement of statements) rows.push(await reach(statement))
  return rows
}

const inText = (row: StoredRow): string => JSON.stringify(Object.values(row))

export const engines: readonly Engine[] = citusServers.length > 0 ? [citus] : [sqlite, postgres]

/** For suites that no engine can influence: one of them, and in the long run all. */
export const anyEngine: readonly Engine[] = isLong ? engines : engines.slice(0, 1)
