import type { DatabaseSync } from 'node:sqlite'

/**
 * Reads that follow each other without a pause see one state of storage: beginning and ending a transaction for each
 * read costs as much as finding its row.
 */
export type SharedSnapshot = {
  /** Call before each read. */
  join(): void
  /** After this, reads see everything that was committed. */
  end(): void
}

/**
 * A snapshot never outlives the event in which it began, so a request that arrives later, or an operation that is told
 * of its commit, reads a newer state. A read on its own opens no transaction.
 */
export const sharedSnapshot = (database: DatabaseSync): SharedSnapshot => {
  // Prepared, because `exec` would parse them each time, for 1 µs.
  const [begin, rollback] = [database.prepare('BEGIN'), database.prepare('ROLLBACK')]
  let reads = 0
  const end = (): void => {
    const mayBeOpen = reads > 1
    reads = 0
    if (!mayBeOpen || !database.isOpen || !database.isTransaction) return
    try {
      rollback.get()
    } catch {
      // Nothing was written, so nothing is lost. If storage has failed, the next read reports it.
    }
  }
  return {
    join: () => {
      reads++
      if (reads === 1) process.nextTick(end)
      else if (reads === 2) begin.get()
    },
    end,
  }
}
