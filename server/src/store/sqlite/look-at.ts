import { DatabaseSync } from 'node:sqlite'
import { type Look, seenKeys } from '../sql/look.ts'
import { vaultKeys } from '../sql/statements.ts'
import { schemaState } from './migrate.ts'
import { lockWaitDefaultMs } from './open-database.ts'

/**
 * What a file holds, without changing it. Waits like any other connection: the last one that closes a file has it to
 * itself while it folds the log in.
 */
export const lookAtSqlite = (path: string): Look => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: lockWaitDefaultMs })
  try {
    const tables = tablesOf(database)
    const hasKeys = tables.includes('vault_keys')
    return {
      schema: schemaState(database),
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
