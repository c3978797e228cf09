import { DatabaseSync } from 'node:sqlite'
import { unwritable } from './engine-reason.ts'
import { migrateTo, newestSchema, schemaNumber } from './migrate.ts'

/**
 * What a schema says is code, too: whoever writes to the file can plant a trigger that undoes a write or keeps a copy of it, or a
 * constraint (`ON CONFLICT IGNORE`) that turns it into nothing, without any error. So all that acts on the vault's tables must be
 * what the migrations make, to the letter. Other tables act on nothing: foreign keys are off (`openFile`).
 */
export const foreignParts = (database: DatabaseSync): string[] => {
  const own = ownParts(schemaNumber(database))
  const tables = new Set([...own.values()].map(({ table }) => table))
  const found = partsOf(database)
  const changed = [...found].filter(([name, { type, table, sql }]) => {
    if (own.has(name)) return own.get(name)?.sql !== sql
    return type === 'trigger' || type === 'view' || (type === 'index' && tables.has(table))
  })
  // A missing trigger leaves bytes behind. Whatever else is missing fails by itself, or only costs time.
  const lost = [...own].filter(([name, { type }]) => type === 'trigger' && !found.has(name))
  return [...changed.map(([name]) => name), ...lost.map(([name]) => `no ${name}`)]
}

export class ForeignSchemaError extends Error {}

/** At the start, where there is somebody to tell. Of a newer release's schema, the migrations will tell. */
export const requireOwnSchema = (database: DatabaseSync, path: string): void => {
  // One moment: another process may be migrating.
  database.exec('BEGIN')
  try {
    if (schemaNumber(database) <= newestSchema() && foreignParts(database).length > 0)
      throw new ForeignSchemaError(
        `${path} has a schema that no release made: strongroom doctor says what differs`,
      )
  } finally {
    // A damaged file may have ended it, and its error is the one to tell.
    if (database.isTransaction) database.exec('COMMIT')
  }
}

/** In every transaction: a look at one number, unless the schema has been changed since. */
export const schemaGuard = (database: DatabaseSync): (() => void) => {
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

/** By kind and name. Indexes that come from a key have no text of their own: their table's tells. */
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

/** What the migrations up to this one make; of a schema that this release does not know, nothing. */
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
