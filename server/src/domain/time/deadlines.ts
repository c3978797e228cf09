import { pace } from '../pace.ts'
import type { Instant } from './instant.ts'

/** Deadlines are still to come if they lie after `after`, up to and including `upTo`. Any other deadline is due. */
export type PendingDeadlines = { readonly after: Instant; readonly upTo: Instant }

/**
 * The pending deadlines of what lives for `lifetimeMs`. A deadline further ahead than any clock close to ours could
 * have set it came from a wrong clock, and is due: what is written while a clock is a year ahead must not live for that
 * year.
 */
export const pendingDeadlines = (lifetimeMs: number, now: Instant): PendingDeadlines => ({
  after: now,
  upTo: now + lifetimeMs + pace.clockSkewMs,
})

export const isPending = (deadline: Instant, { after, upTo }: PendingDeadlines): boolean =>
  deadline > after && deadline <= upTo
