import type { DatabaseSync } from 'node:sqlite'

/** One read of one row, 1.5 µs: cheaper than anything that would have to be told by other processes. */
export const grantsEpoch = (database: DatabaseSync): (() => number) => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch')
  return () => Number(readEpoch.get()?.epoch)
}
