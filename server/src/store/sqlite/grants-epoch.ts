import type { DatabaseSync } from 'node:sqlite'
import { unreadable } from './reading-side.ts'

/**
 * One read of one row, 3 µs, shared by requests that arrive together. The memo lasts until the end of the event loop's
 * turn: anything revoked meanwhile was revoked while those requests were under way.
 */
export const grantsEpoch = (database: DatabaseSync): (() => number) => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch WHERE id = 1')
  readEpoch.setReadBigInts(true)
  let memo: number | undefined
  /** A tampered epoch may not change when it is incremented, so every look at one counts as a change. */
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
