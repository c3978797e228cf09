import { VaultError } from '../domain/errors.ts'
import type { Instant } from '../domain/instant.ts'
import type { Caller } from '../operations/vault.ts'

/** Throws 429 with Retry-After for a key that is over its rate. */
export type RateLimit = (caller: Caller) => void

const bucketsMax = 10_000

/**
 * A bucket of `burst` requests per API key that refills at `perSecond`; off where no rate is set. The
 * buckets of one process: with several, each lets its share through.
 */
export const rateLimit = (
  rate: { perSecond: number; burst: number } | undefined,
  clock: () => Instant,
): RateLimit => {
  if (rate === undefined) return () => {}
  const { perSecond, burst } = rate
  const buckets = new Map<string, { left: number; at: Instant }>()
  return ({ apiKey }) => {
    const now = clock()
    const name = Buffer.from(apiKey.hash).toString('base64')
    const bucket = buckets.get(name) ?? { left: burst, at: now }
    // A clock that is set back must not lock a key out for as long as it was wrong.
    const elapsedMs = Math.max(0, now - bucket.at)
    bucket.left = Math.min(burst, bucket.left + (elapsedMs / 1_000) * perSecond)
    bucket.at = now
    // Forgetting a bucket fills it; keys that are in use get theirs back at once.
    if (buckets.size >= bucketsMax) buckets.clear()
    buckets.set(name, bucket)
    if (bucket.left < 1)
      throw new VaultError('tooManyRequests', {
        headers: { 'retry-after': String(Math.max(1, Math.ceil((1 - bucket.left) / perSecond))) },
      })
    bucket.left -= 1
  }
}
