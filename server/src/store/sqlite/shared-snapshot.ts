import type { DatabaseSync } from 'node:sqlite'

/**
 * Reads that follow each other without a pause see one state of storage: to begin and end a transaction for each
 * costs as much as finding its row.
 */
export type SharedSnapshot = {
  /** Before each read. */
  join(): void
  /** What comes next sees everything that was committed. */
  end(): void
}

/**
 * A snapshot never outlives the event that it began in: a request that arrives later, and an operation that is told
 * of its commit, read a newer state. A read that stays alone takes none.
 */
export const sharedSnapshot = (database: DatabaseSync): SharedSnapshot => {
  let reads = 0
  const end = (): void => {
    const mayBeOpen = reads > 1
    reads = 0
    if (!mayBeOpen || !database.isOpen || !database.isTransaction) return
    try {
      database.exec('ROLLBACK')
    } catch {
      // Nothing was written, so nothing is lost; what is wrong with storage the next read will say.
    }
  }
  return {
    join: () => {
      reads++
      if (reads === 1) process.nextTick(end)
      else if (reads === 2) database.exec('BEGIN')
    },
    end,
  }
}
