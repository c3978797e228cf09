import { openToRead } from './open-database.ts'

/** A copy as of one moment, also beside processes that write; `to` is not there yet, or empty. */
export const backUpSqlite = (path: string, to: string): void => {
  const database = openToRead(path)
  try {
    // Keeps sorter spills off the disk.
    database.exec('PRAGMA temp_store = MEMORY')
    database.prepare('VACUUM INTO ?').run(to)
  } finally {
    database.close()
  }
}
