import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import type { Store } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'

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
]
