import { dayMs, type Instant } from '../time/instant.ts'

const [secondMs, minuteMs, hourMs] = [1_000, 60_000, 3_600_000]

/** E4: how long after the end of an attempt the next one comes; the first comes at once. */
export const attemptDelays: readonly number[] = [
  0,
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
]

/** Receivers that were away together must not come back to everything at once. */
const spread = 0.2

/**
 * When an event is attempted again whose last attempt ended just now, or undefined after the last one. `random` is from 0 up to 1. A
 * receiver may ask for up to twice the delay, and for no less than it.
 */
export const nextAttemptAt = ({
  made,
  endedAt,
  random,
  retryAfterMs,
}: {
  readonly made: number
  readonly endedAt: Instant
  readonly random: number
  readonly retryAfterMs: number | undefined
}): Instant | undefined => {
  const { [made]: delay } = attemptDelays
  if (delay === undefined) return undefined
  const wait =
    retryAfterMs === undefined
      ? delay * (1 + spread * (2 * random - 1))
      : Math.min(Math.max(retryAfterMs, delay), 2 * delay)
  return endedAt + Math.round(wait)
}

/** A webhook that nothing but failed for so long is disabled. */
const failingMaxMs = 5 * dayMs

export const hasFailedTooLong = (failingSince: Instant | undefined, now: Instant): boolean =>
  failingSince !== undefined && now - failingSince >= failingMaxMs

/** What a `Retry-After` asks for: seconds, or a date. Undefined if it is neither. */
export const readRetryAfter = (text: string | undefined, now: Instant): number | undefined => {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * secondMs
  const at = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
