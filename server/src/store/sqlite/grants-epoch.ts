import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailableError } from '../port.ts'
import { engineReason } from './engine-reason.ts'

/**
 * One read of one row, 3 µs, shared by the requests that arrive together: the memo lasts to the end of the
 * event loop's turn, and what is revoked meanwhile was revoked while they were under way.
 */
export const grantsEpoch = (database: DatabaseSync): (() => number) => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch WHERE id = 1')
  let memo: number | undefined
  return () => {
    if (memo === undefined) {
      try {
        memo = Number(readEpoch.get()?.epoch)
      } catch (error) {
        throw new StoreUnavailableError('storage cannot be read', {
          cause: error,
          outage: engineReason(error),
        })
      }
      setImmediate(() => {
        memo = undefined
      })
    }
    return memo
  }
}
