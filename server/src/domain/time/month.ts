import type { Instant } from './instant.ts'

/** The UTC month of an instant as a number that sorts: 202611. */
export const monthOf = (instant: Instant): number => {
  // Kept between calls: every read asks for the month, and it changes twelve times a year.
  if (instant < known.from || instant >= known.until) known = monthAround(instant)
  return known.month
}

const monthAround = (instant: Instant): { from: Instant; until: Instant; month: number } => {
  const date = new Date(instant)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { from: Date.UTC(year, month), until: Date.UTC(year, month + 1), month: year * 100 + month + 1 }
}

let known = { from: 0, until: 0, month: 0 }
