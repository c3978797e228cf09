import { constants, DatabaseSync } from 'node:sqlite'
import { isBusy } from './failure-codes.ts'

/** How long a connection waits for another process, such as a closing server, before it reports "locked". */
export const lockWaitDefaultMs = 5_000

/**
 * The vault's tables have no foreign keys. Node turns them on, and then a row of any other table could refer to one of the vault's
 * and so forbid its deletion: an API key could not be revoked, nor a cvc forgotten.
 */
export const openFile = (
  path: string,
  options: { readonly timeout?: number; readonly readOnly?: boolean } = {},
): DatabaseSync => new DatabaseSync(path, { ...options, enableForeignKeyConstraints: false })

/**
 * A connection with every setting that the engine's promises rest on. The writing connection makes do with half the
 * cache: in a large vault the next page it needs is not cached anyway, and after each page split SQLite walks the whole
 * cache.
 */
export const openDatabase = (
  path: string,
  lockWaitMs: number,
  { isWriter = false }: { isWriter?: boolean } = {},
): DatabaseSync => {
  const database = openFile(path, { timeout: lockWaitMs })
  turnOnLog(database, lockWaitMs)
  const cacheKiB = isWriter ? 16_384 : 32_768
  // secure_delete overwrites deleted bytes (C11); temp_store keeps sorter spills off the disk. The log may grow to 32
  // MiB before a commit has to fold it in; `fold-log.ts` does so long before.
  database.exec(`
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -${cacheKiB};
    PRAGMA wal_autocheckpoint = 8000;
  `)
  return withoutForeignCode(database)
}

/** The triggers of the schema (migrations/0001-vault.ts). */
const ownTriggers: ReadonlySet<string | null> = new Set(['transients_wiped', 'tenant_keys_wiped'])

/**
 * A database file can hold code: anyone able to write to it could plant a trigger that keeps a copy of deleted rows, or
 * a view in place of a table. No statement that would touch such code runs; the engine says "not authorized". It knows
 * triggers by their names only, so what they do is compared apart (`own-schema.ts`).
 */
export const withoutForeignCode = (database: DatabaseSync): DatabaseSync => {
  database.setAuthorizer((_action, _what, _column, _schema, from) =>
    from === null || ownTriggers.has(from) ? constants.SQLITE_OK : constants.SQLITE_DENY,
  )
  return database
}

/**
 * A connection that changes nothing. It waits like any other, because the last connection to close a file locks it
 * while folding the log in.
 */
export const openToRead = (path: string): DatabaseSync =>
  openFile(path, { readOnly: true, timeout: lockWaitDefaultMs })

const retryMs = 10

/**
 * When several processes open new storage at the same moment, SQLite lets one turn on the write-ahead log and tells
 * some of the others "locked" at once, whatever the timeout. So the waiting is done here.
 */
const turnOnLog = (database: DatabaseSync, waitMs: number): void => {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    try {
      database.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || waitedMs >= waitMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
    }
  }
}
