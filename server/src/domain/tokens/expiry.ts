import type { Issue } from '../errors.ts'
import { type DateTime, parseDateTime } from '../time/date-time.ts'
import { formatInstant, type Instant } from '../time/instant.ts'

/** When a token or an API key ends, and the offset that the caller used, which responses keep (C5). */
export type Expiry = DateTime

/** One example of each accepted form; the offset may be left out. */
const acceptedForms = '2030-12-31, 2030-12-31T10:00:00+02:00, 12/31/2030 or 12/31/2030 11:59:59 PM +02:00'

/** C17: a readable date in the future. */
export const readExpiry = (
  text: string,
  place: string,
  now: Instant,
  issues: Issue[],
): Expiry | undefined => {
  const expiry = parseDateTime(text)
  if (expiry === undefined) issues.push({ path: place, message: `must be a date like ${acceptedForms}` })
  else if (expiry.at <= now) issues.push({ path: place, message: 'must lie in the future' })
  else return expiry
  return undefined
}

export const formatExpiry = (expiry: Expiry): string => formatInstant(expiry.at, expiry.offsetMinutes)
