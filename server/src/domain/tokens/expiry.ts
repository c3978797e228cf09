import type { Issue } from '../errors.ts'
import { type DateTime, dateForms, parseDateTime } from '../time/date-time.ts'
import { formatInstant, type Instant } from '../time/instant.ts'

/** When a token or an API key ends, and the offset that the caller used, which responses keep (C5). */
export type Expiry = DateTime

/** C17: a readable date in the future. */
export const readExpiry = (
  text: string,
  place: string,
  now: Instant,
  issues: Issue[],
): Expiry | undefined => {
  const expiry = parseDateTime(text)
  if (expiry === undefined) issues.push({ path: place, message: `must be a date like ${dateForms}` })
  else if (expiry.at <= now) issues.push({ path: place, message: 'must lie in the future' })
  else return expiry
  return undefined
}

export const formatExpiry = (expiry: Expiry): string => formatInstant(expiry.at, expiry.offsetMinutes)
