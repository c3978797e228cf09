import type { Instant } from './instant.ts'

/** The UTC month of an instant as a number that sorts: 202611. */
export const monthOf = (instant: Instant): number => {
  const date = new Date(instant)
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1
}
