import { DatabaseSync } from 'node:sqlite'

/** How every connection of the engine is set up. */
export const openDatabase = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  // secure_delete overwrites what is deleted (C11); temp_store keeps sorter spills off the disk. The log may
  // grow to 32 MiB before a commit has to fold it in; the sweeper does so each minute anyway.
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -65536;
    PRAGMA wal_autocheckpoint = 8000;
  `)
  return database
}
