import type { DatabaseSync } from 'node:sqlite'

/**
 * One read of one row, 3 µs, shared by the requests that arrive together: the memo lasts to the end of the
 * event loop's turn, and what is revoked meanwhile was revoked while they were under way.
 */
export const grantsEpoch = (database: DatabaseSync): (() => number) => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch WHERE id = 1')
  let memo: number | undefined
  return () => {
    if (memo === undefined) {
      memo = Number(readEpoch.get()?.epoch)
      setImmediate(() => {
        memo = undefined
      })
    }
    return memo
  }
}
