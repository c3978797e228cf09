import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { unwritable } from '../engine-reason.ts'
import { schemaGuard } from '../own-schema.ts'

/** Called in every transaction. Throws if the file or the schema is no longer the vault's own, so that no write is lost. */
export const storageGuard = (database: DatabaseSync): (() => void) => {
  const [requireOwnFile, requireOwnSchema] = [fileGuard(database), schemaGuard(database)]
  return () => {
    requireOwnFile()
    requireOwnSchema()
  }
}

/**
 * If the file is moved or replaced, the open connection still writes to the old one, and those writes are gone when the process ends.
 * So before anything is answered, the path must lead to the file that was opened.
 */
export const fileGuard = (database: DatabaseSync): (() => void) => {
  const path = database.location()
  if (path === null) return () => {}
  const opened = fileAt(path)
  return () => {
    if (fileAt(path) !== opened)
      throw unwritable('the file of the vault was moved or replaced: restart the server')
  }
}

const fileAt = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
