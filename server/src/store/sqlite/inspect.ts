import type { DatabaseSync } from 'node:sqlite'
import { IncompleteVaultError, type Inspection, seenKeys } from '../sql/inspection.ts'
import { vaultKeys } from '../sql/statements.ts'
import { newestSchema, schemaNumber } from './migrate.ts'
import { openToRead } from './open-database.ts'

/** Reads what a file holds without changing it. Undefined if it is empty. Throws if it is not a vault's. */
export const inspectSqlite = (path: string): Inspection | undefined => {
  const database = openToRead(path)
  try {
    const tables = tablesOf(database)
    const current = schemaNumber(database)
    if (tables.length === 0 && current === 0) return undefined
    const hasKeys = tables.includes('vault_keys')
    if (!hasKeys && current > 0 && tables.includes('tenant_keys'))
      throw new IncompleteVaultError(`${path} has lost the table vault_keys: restore a backup`, 'restore')
    if (!hasKeys && tables.length > 0)
      throw new Error(`${path} is another program's SQLite database: use another folder`)
    return {
      schema: { current, newest: newestSchema(), pending: current < newestSchema() },
      vaultKeys: hasKeys ? seenKeys(database.prepare(vaultKeys).all()) : [],
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
