import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { unreadable } from './reading/reading-side.ts'

export type GrantsEpoch = {
  /**
   * Reads one row, in 2 µs. Requests that arrive together share the result until the event loop polls again, and for at most
   * `sharedMs`: anything revoked in this time was revoked while those requests were under way.
   */
  inForce(): number
  /** Called after a commit of our own, which may have changed grants. */
  forget(): void
}

/**
 * Too short for a revocation to be made durable, to be answered and to be followed by a request to another worker. The limit is needed
 * because after a long event the next requests may have come long after the last read, before the event loop polls again.
 */
const sharedMs = 0.2

export const grantsEpoch = (database: DatabaseSync): GrantsEpoch => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch WHERE id = 1')
  readEpoch.setReadBigInts(true)
  readEpoch.setReturnArrays(true)
  let memo = 0
  let readIn: number | undefined
  let readAt = 0
  /** A tampered epoch may stay the same when it is incremented, so every read of one counts as a change. */
  let looks = 0
  const counted = (stored: unknown): number =>
    typeof stored === 'bigint' && Number.isSafeInteger(Number(stored)) ? Number(stored) : --looks
  return {
    inForce: () => {
      // An immediate that clears the memo would run too late if the read itself happened in an immediate: after the next events.
      const { loopCount } = performance.nodeTiming.uvMetricsInfo
      const now = performance.now()
      if (readIn !== loopCount || now - readAt > sharedMs) {
        try {
          const row = readEpoch.get() as unknown as SQLOutputValue[] | undefined
          memo = counted(row?.[0])
        } catch (error) {
          throw unreadable(error)
        }
        readIn = loopCount
        readAt = now
      }
      return memo
    },
    forget: () => {
      readIn = undefined
    },
  }
}
