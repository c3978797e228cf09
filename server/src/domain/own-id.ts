import type { Instant } from './time/instant.ts'

/** The form of the ids that the vault makes itself (C16): UUIDv7, which begins with the milliseconds of its making. */
const ownForm = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

export const hasOwnForm = (id: string): boolean => ownForm.test(id)

/**
 * How far the time in an id may be from that of its token: ids count on where many are made in a millisecond, or the clock is set
 * back a little (crypto/token-id.ts).
 */
export const ownIdToleranceMs = 60_000

/** What ids of this form that were made at the moment begin with. */
export const startOfOwnIds = (moment: Instant): string => {
  const digits = moment.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}
