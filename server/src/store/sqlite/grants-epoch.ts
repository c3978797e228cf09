import type { DatabaseSync } from 'node:sqlite'
import { unreadable } from './reading-side.ts'

/**
 * One read of one row, 3 µs, shared by the requests that arrive together: the memo lasts to the end of the
 * event loop's turn, and what is revoked meanwhile was revoked while they were under way.
 */
export const grantsEpoch = (database: DatabaseSync): (() => number) => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch WHERE id = 1')
  readEpoch.setReadBigInts(true)
  let memo: number | undefined
  /** Somebody put there what would not change when it is counted up: every look is then a change. */
  let looks = 0
  const inForce = (stored: unknown): number =>
    typeof stored === 'bigint' && Number.isSafeInteger(Number(stored)) ? Number(stored) : --looks
  return () => {
    if (memo === undefined) {
      try {
        memo = inForce(readEpoch.get()?.epoch)
      } catch (error) {
        throw unreadable(error)
      }
      setImmediate(() => {
        memo = undefined
      })
    }
    return memo
  }
}
