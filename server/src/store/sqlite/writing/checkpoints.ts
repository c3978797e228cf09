import type { DatabaseSync } from 'node:sqlite'
import type { WriterMeters } from '../../../telemetry/telemetry.ts'

/** How many rows change between two checkpoints: about five hundred pages of the log, or 3 ms. */
const rowsBetween = 1_000

/**
 * Makes small, frequent checkpoints. By default SQLite makes a large one inside a commit, which then takes 30 ms for 8,000 pages: at
 * half of the vault's maximum load, one create in a hundred took longer than 15 ms. Call the returned function after a commit has been
 * answered and before the next one arrives.
 */
export const checkpointing = (database: DatabaseSync, meters?: WriterMeters): (() => void) => {
  const changed = database.prepare('SELECT total_changes()')
  changed.setReturnArrays(true)
  const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  const took = meters?.histogram('checkpoint')
  let rowsAtLast = 0
  return () => {
    const [rows] = changed.get() as unknown as [number]
    if (rows - rowsAtLast < rowsBetween) return
    rowsAtLast = rows
    const begunAt = performance.now()
    try {
      checkpoint.get()
      took?.observeMs(performance.now() - begunAt)
    } catch {
      // Committed data is safe in the log. If the disk is full or gone, the next commit will say so.
    }
  }
}
