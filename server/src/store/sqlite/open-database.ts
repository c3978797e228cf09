import { constants, DatabaseSync } from 'node:sqlite'
import { isBusy } from './failure-codes.ts'

/** How long a connection waits for another process, such as a closing server, before it reports "locked". */
export const lockWaitDefaultMs = 5_000

/**
 * Turns foreign keys off, which Node turns on. The vault's tables have none. A row of another table could refer to one of the vault's
 * and block its deletion: an API key could not be revoked, and a cvc could not be deleted.
 */
export const openFile = (
  path: string,
  options: { readonly timeout?: number; readonly readOnly?: boolean } = {},
): DatabaseSync => new DatabaseSync(path, { ...options, enableForeignKeyConstraints: false })

/**
 * Opens a connection with every setting that the engine's promises depend on. The writing connection has half the cache: in a large
 * vault the next page it needs is not cached anyway, and after each page split SQLite walks the whole cache.
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
  // MiB before a commit must do a checkpoint; `checkpoints.ts` does one long before.
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
 * A database file can hold code: anyone able to write to it could plant a trigger that keeps a copy of deleted rows, or a view in
 * place of a table. The engine refuses every statement that would run such code ("not authorized"). This check knows triggers only by
 * name; `own-storage.ts` compares their text.
 */
export const withoutForeignCode = (database: DatabaseSync): DatabaseSync => {
  database.setAuthorizer((_action, _what, _column, _schema, from) =>
    from === null || ownTriggers.has(from) ? constants.SQLITE_OK : constants.SQLITE_DENY,
  )
  return database
}

/**
 * Opens a read-only connection. It has a lock timeout, too, because the last connection to close a file locks it during the final
 * checkpoint.
 */
export const openToRead = (path: string): DatabaseSync =>
  openFile(path, { readOnly: true, timeout: lockWaitDefaultMs })

const retryMs = 10

/**
 * When several processes open new storage at the same moment, SQLite lets one turn on the write-ahead log and tells
 * some of the others "locked" at once, whatever the timeout. So this function does the waiting.
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
