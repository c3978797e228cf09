import type { DatabaseSync } from 'node:sqlite'

/** Rows that change between two foldings: about five hundred pages of the log, or 3 ms. */
const rowsBetween = 1_000

/**
 * Folds the log into the file a little at a time. SQLite would do it within a commit, and all that it commits would wait:
 * 30 ms for 8,000 pages, so that at half the rate that the vault can take one create in a hundred took longer than
 * 15 ms. The function returned is for when a commit has been answered and the next one is not there yet.
 */
export const logFolding = (database: DatabaseSync): (() => void) => {
  const changed = database.prepare('SELECT total_changes() AS rows')
  const fold = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  let folded = 0
  return () => {
    const rows = Number(changed.get()?.rows)
    if (rows - folded < rowsBetween) return
    folded = rows
    try {
      fold.get()
    } catch {
      // What was committed is safe in the log; a disk that is full or gone is told by the next commit.
    }
  }
}
