import { pace } from '../pace.ts'
import type { Instant } from './instant.ts'

/** Which deadlines are still to come: those after `after`, up to `upTo` and with it. Any other is due. */
export type PendingDeadlines = { readonly after: Instant; readonly upTo: Instant }

/**
 * Those of what lives for so long. One that lies further ahead than any clock near ours could have set it was set by a
 * clock that was wrong, and is due: what is written while a clock is a year ahead must not live for that year.
 */
export const pendingDeadlines = (lifetimeMs: number, now: Instant): PendingDeadlines => ({
  after: now,
  upTo: now + lifetimeMs + pace.clockSkewMs,
})

export const isPending = (deadline: Instant, { after, upTo }: PendingDeadlines): boolean =>
  deadline > after && deadline <= upTo
