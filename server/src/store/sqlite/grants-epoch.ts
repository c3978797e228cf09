import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { unreadable } from './reading/reading-side.ts'

export type GrantsEpoch = {
  /**
   * One read of one row, 2 µs, shared by requests that arrive together. It counts until the event loop looks for events again, and no
   * longer than `sharedMs`: anything revoked meanwhile was revoked while those requests were under way.
   */
  inForce(): number
  /** After a commit of our own, which may have changed grants. */
  forget(): void
}

/**
 * No revocation is made durable, answered and followed by a request to another worker in this time. After a long event the requests of
 * the next one may have come long after the last look, though the event loop has not looked for others since.
 */
const sharedMs = 0.2

export const grantsEpoch = (database: DatabaseSync): GrantsEpoch => {
  const readEpoch = database.prepare('SELECT epoch FROM grants_epoch WHERE id = 1')
  readEpoch.setReadBigInts(true)
  readEpoch.setReturnArrays(true)
  let memo = 0
  let readIn: number | undefined
  let readAt = 0
  /** A tampered epoch may not change when it is incremented, so every look at one counts as a change. */
  let looks = 0
  const counted = (stored: unknown): number =>
    typeof stored === 'bigint' && Number.isSafeInteger(Number(stored)) ? Number(stored) : --looks
  return {
    inForce: () => {
      // An immediate that forgets the memo would come too late where it was read among immediates: after the next events.
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
