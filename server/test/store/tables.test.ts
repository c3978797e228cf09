import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ColumnKind, contentTables, logTables, type Table, tables } from '../../src/store/tables.ts'
import { type Engine, engines } from '../rig/engines.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

/** How to list a table's columns on an engine, and which columns differ there from those of tables.ts. */
type Schema = {
  readonly columns: string
  readonly own: Record<string, Record<string, ColumnKind | undefined>>
  /** Tables that on this engine are columns of another table. */
  readonly within: Record<string, string>
}

const postgres: Schema = {
  columns: `SELECT column_name AS name, data_type AS type, CASE WHEN is_nullable = 'NO' THEN 1 ELSE 0 END AS is_required
    FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ?`,
  own: { counters: { shard: 'integer' } },
  within: {},
}

const schemas: Record<Engine['name'], Schema> = {
  sqlite: {
    columns: `SELECT name, type, "notnull" OR pk > 0 AS is_required FROM pragma_table_info(?)`,
    own: {
      tenant_keys: { wrapped: undefined, slot: 'integer' },
      transients: { sealed: undefined, slot: 'integer' },
      api_keys: { last_used_at: 'integer?' },
    },
    within: { key_uses: 'api_keys' },
  },
  postgres,
  citus: postgres,
}

const kinds: Record<string, 'integer' | 'text' | 'bytes'> = {
  INTEGER: 'integer',
  TEXT: 'text',
  BLOB: 'bytes',
  bigint: 'integer',
  smallint: 'integer',
  text: 'text',
  bytea: 'bytes',
}

/** Tables that belong to an engine and are no part of the vault, each with the reason. */
const notCopied: Readonly<Record<string, string>> = {
  slots: 'where SQLite keeps bytes of rows that are copied',
  waiting_terms: 'index entries of SQLite that wait, all of which a copy finds in their place',
  waiting_moved: 'which of them have been moved',
  sqlite_sequence: 'the highest number of a tenant is carried over by itself',
  grants_epoch: 'tells processes that run to forget; none does during a copy',
  leases: 'names processes that are gone',
  migrations: 'how far the schema of the database itself is',
  arrival: 'how far a copy into the database is',
}

for (const engine of engines)
  describe(`what a copy of a vault includes (${engine.name})`, () => {
    const folder = temporaryFolder()
    const { columns, own, within } = schemas[engine.name]
    before(async () => (await engine.open(folder.path)).close())
    after(() => folder.remove())

    test('each table is copied, or listed with the reason why not (C35)', async () => {
      const stored = (await engine.reach(folder.path, engine.tables)).map(({ name }) => String(name))
      const known = [...tables.map(({ name }) => name), ...Object.keys(notCopied)]
      assert.deepEqual(
        stored.filter(name => !known.includes(name)),
        [],
      )
      for (const { name } of tables) assert.ok(stored.includes(within[name] ?? name), name)
    })

    test('each column of these tables is copied with its type (C35)', async () => {
      for (const table of tables.filter(({ name }) => within[name] === undefined)) {
        const stored = await engine.reach(folder.path, columns, table.name)
        assert.deepEqual(
          Object.fromEntries(
            stored.map(({ name, type, is_required }) => [
              name,
              `${kinds[String(type)] ?? type}${Number(is_required) === 1 ? '' : '?'}`,
            ]),
          ),
          expected(table, own[table.name] ?? {}),
          table.name,
        )
      }
    })
  })

test('the keys of content and log rows begin with the tenant, so that they can be sharded and removed by it (§1.2, C31)', () => {
  for (const { name, key } of [...contentTables, ...logTables]) assert.match(key, /^tenant, /, name)
})

const expected = ({ columns }: Table, own: Record<string, ColumnKind | undefined>): Record<string, unknown> =>
  Object.fromEntries(Object.entries({ ...columns, ...own }).filter(([, kind]) => kind !== undefined))
