import { Memo } from './memo.ts'
import type { Instant } from './time/instant.ts'

export type Rate = { readonly perSecond: number; readonly burst: number }

/** Takes one request out of the bucket with this name. Returns 0, or the seconds to wait if the bucket is empty. */
export type TakeShare = (name: string) => number

const bucketsMax = 10_000

/** A bucket of `burst` requests per name that refills at `perSecond`. */
export const rateBuckets = ({ perSecond, burst }: Rate, clock: () => Instant): TakeShare => {
  // A key whose bucket was dropped gets a full one, and may burst once more.
  const buckets = new Memo<{ left: number; at: Instant }>(bucketsMax)
  return name => {
    const now = clock()
    const bucket = buckets.getOrMake(name, () => ({ left: burst, at: now }))
    // If the clock is set back, a key must not be locked out until it catches up.
    const elapsedMs = Math.max(0, now - bucket.at)
    bucket.left = Math.min(burst, bucket.left + (elapsedMs / 1_000) * perSecond)
    bucket.at = now
    if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / perSecond))
    bucket.left -= 1
    return 0
  }
}
