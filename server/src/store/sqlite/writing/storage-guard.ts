import type { DatabaseSync } from 'node:sqlite'
import { fileGuard } from '../own-file.ts'
import { schemaGuard } from '../own-schema.ts'

/** For every transaction: throws if what is written would go astray, because file or schema are no longer the vault's own. */
export const storageGuard = (database: DatabaseSync): (() => void) => {
  const [requireOwnFile, requireOwnSchema] = [fileGuard(database), schemaGuard(database)]
  return () => {
    requireOwnFile()
    requireOwnSchema()
  }
}
