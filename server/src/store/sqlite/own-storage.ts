import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { unwritable } from './engine-reason.ts'
import { migrateTo, newestSchema, schemaNumber } from './migrate.ts'

/**
 * A schema is code: anyone able to write to the file can plant a trigger that undoes or copies a write, or a constraint
 * (`ON CONFLICT IGNORE`) that drops it without an error. So everything that acts on the vault's tables must match the migrations
 * exactly. Other tables cannot act on them: foreign keys are off (`openFile`).
 */
export const foreignParts = (database: DatabaseSync): string[] => {
  const own = ownParts(schemaNumber(database))
  const tables = new Set([...own.values()].map(({ table }) => table))
  const found = partsOf(database)
  const changed = [...found].filter(([name, { type, table, sql }]) => {
    if (own.has(name)) return own.get(name)?.sql !== sql
    return type === 'trigger' || type === 'view' || (type === 'index' && tables.has(table))
  })
  // A missing trigger leaves bytes behind. Any other missing part causes an error by itself, or only costs time.
  const lost = [...own].filter(([name, { type }]) => type === 'trigger' && !found.has(name))
  return [...changed.map(([name]) => name), ...lost.map(([name]) => `no ${name}`)]
}

export class ForeignSchemaError extends Error {}

/** Checked at the start, where an operator sees the error. The migrations report a schema of a newer release. */
export const requireOwnSchema = (database: DatabaseSync, path: string): void => {
  // In one transaction, because another process may be migrating.
  database.exec('BEGIN')
  try {
    if (schemaNumber(database) <= newestSchema() && foreignParts(database).length > 0)
      throw new ForeignSchemaError(
        `${path} has a schema that no release made: strongroom doctor says what differs`,
      )
  } finally {
    // A damaged file may have ended the transaction. Its error is the one to report.
    if (database.isTransaction) database.exec('COMMIT')
  }
}

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
const fileGuard = (database: DatabaseSync): (() => void) => {
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

/** Checked in every transaction. It reads one number, unless the schema has changed since. */
const schemaGuard = (database: DatabaseSync): (() => void) => {
  const readVersion = database.prepare('PRAGMA schema_version')
  readVersion.setReturnArrays(true)
  let checked: unknown
  return () => {
    const [version] = readVersion.get() as unknown as [number]
    if (version === checked) return
    if (schemaNumber(database) > newestSchema())
      throw unwritable('a newer release has changed the schema: restart the server with that release')
    if (foreignParts(database).length > 0)
      throw unwritable('the schema was changed by something else: strongroom doctor says what differs')
    checked = version
  }
}

type Part = { readonly type: string; readonly table: string; readonly sql: string }
type Parts = ReadonlyMap<string, Part>

/** By kind and name. An index that belongs to a key has no text of its own; the text of its table covers it. */
const partsOf = (database: DatabaseSync): Parts =>
  new Map(
    database
      .prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL')
      .all()
      .map(({ type, name, tbl_name: table, sql }) => [
        `${type} ${name}`,
        { type: String(type), table: String(table), sql: String(sql) },
      ]),
  )

const known = new Map<number, Parts>()

/** The parts that the migrations up to this number make. Empty if this release does not know the number. */
const ownParts = (schema: number): Parts => {
  const before = known.get(schema)
  if (before !== undefined) return before
  const made = new DatabaseSync(':memory:')
  try {
    if (schema <= newestSchema()) migrateTo(made, schema)
    const parts = partsOf(made)
    known.set(schema, parts)
    return parts
  } finally {
    made.close()
  }
}
