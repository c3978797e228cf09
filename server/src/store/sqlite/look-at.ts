import type { DatabaseSync } from 'node:sqlite'
import { type Look, seenKeys } from '../sql/look.ts'
import { vaultKeys } from '../sql/statements.ts'
import { schemaState } from './migrate.ts'
import { openToRead } from './open-database.ts'

/** What a file holds, without changing it. */
export const lookAtSqlite = (path: string): Look => {
  const database = openToRead(path)
  try {
    const tables = tablesOf(database)
    const hasKeys = tables.includes('vault_keys')
    return {
      schema: schemaState(path),
      vaultKeys: hasKeys ? seenKeys(database.prepare(vaultKeys).all()) : [],
      isForeign: tables.length > 0 && !hasKeys,
    }
  } finally {
    database.close()
  }
}

const tablesOf = (database: DatabaseSync): string[] =>
  database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => String(name))
