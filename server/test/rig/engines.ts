import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import pg from 'pg'
import type { Store } from '../../src/store/port.ts'
import { numbered } from '../../src/store/postgres/dialect.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { typeParser } from '../../src/store/postgres/type-parser.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { databaseOf, settingsOf } from './postgres-databases.ts'

/** Every engine that the vault can stand on; suites run once for each. `folder` is the engine's to fill. */
export type Engine = {
  readonly name: string
  readonly open: (folder: string) => Promise<Store>
  /** Reaches past the vault, as someone could who holds the storage but no key. */
  readonly reach: (folder: string, sql: string, ...values: SQLInputValue[]) => Promise<StoredRow[]>
}

export type StoredRow = Record<string, SQLOutputValue>

export const engines: readonly Engine[] = [
  {
    name: 'sqlite',
    open: async folder => openSqlite({ path: join(folder, 'vault.db') }),
    reach: async (folder, sql, ...values) => {
      const database = new DatabaseSync(join(folder, 'vault.db'), { timeout: 1_000 })
      try {
        return database.prepare(sql).all(...values)
      } finally {
        database.close()
      }
    },
  },
  {
    name: 'postgres',
    open: async folder => openPostgres(settingsOf(await databaseOf(folder))),
    reach: async (folder, sql, ...values) => {
      const client = new pg.Client({
        connectionString: await databaseOf(folder),
        types: { getTypeParser: typeParser as never },
      })
      await client.connect()
      try {
        return (await client.query(numbered(sql), values)).rows
      } finally {
        await client.end()
      }
    },
  },
]
