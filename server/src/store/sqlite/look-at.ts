import type { DatabaseSync } from 'node:sqlite'
import { IncompleteVaultError, type Look, seenKeys } from '../sql/look.ts'
import { vaultKeys } from '../sql/statements.ts'
import { schemaState } from './migrate.ts'
import { openToRead } from './open-database.ts'

/** Reads what a file holds without changing it; undefined if that is nothing. */
export const lookAtSqlite = (path: string): Look | undefined => {
  const database = openToRead(path)
  try {
    const tables = tablesOf(database)
    const hasKeys = tables.includes('vault_keys')
    const schema = schemaState(path)
    if (tables.length === 0 && schema.current === 0) return undefined
    if (!hasKeys && schema.current > 0 && tables.includes('tenant_keys'))
      throw new IncompleteVaultError(`${path} has lost the table vault_keys: restore a backup`, 'restore')
    return {
      schema,
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
