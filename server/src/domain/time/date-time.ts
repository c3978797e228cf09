import type { Issue } from '../errors.ts'
import { formatInstant, type Instant } from './instant.ts'

/** An instant, and the offset with which it was written. */
export type DateTime = { readonly at: Instant; readonly offsetMinutes: number }

/** One example of each form that `parseDateTime` reads; the offset may be left out. */
export const dateForms = '2030-12-31, 2030-12-31T10:00:00+02:00, 12/31/2030 or 12/31/2030 11:59:59 PM +02:00'

/**
 * The forms of §2.3 and ISO 8601 (C17); undefined for any other text and for dates that do not exist. Not Date.parse:
 * it reads 2/30 as 3/1, and texts without an offset as local time.
 *
 * The `date` filter has its own reader (expressions/iso-date.ts). This one reads what callers of the API write and
 * keeps the offset to show it again; that one reads what data happens to hold, as Liquid does.
 */
export const parseDateTime = (text: string): DateTime | undefined => {
  const groups = forms.map(form => form.exec(text)?.groups).find(found => found !== undefined)
  if (groups === undefined) return undefined
  const { year, month, day, hour, minute, second, fraction, half, offset } = groups
  const midnight = midnightUtc(Number(year), Number(month), Number(day))
  const timeMs = timeOfDayMs({
    hour: half === undefined ? Number(hour ?? 0) : hour24(Number(hour), half),
    minute: Number(minute ?? 0),
    second: Number(second ?? 0),
    // Cuts off anything finer than a millisecond, so that nothing lives longer than allowed.
    milliseconds: Number((fraction ?? '').slice(0, 3).padEnd(3, '0')),
  })
  const offsetMinutes = parseOffset(offset)
  if (midnight === undefined || timeMs === undefined || offsetMinutes === undefined) return undefined
  return { at: midnight + timeMs - offsetMinutes * minuteMs, offsetMinutes }
}

const minuteMs = 60_000
const hourMs = 3_600_000
/** The widest offset in use anywhere, on the Line Islands. */
const offsetMaxMinutes = 14 * 60

const shortDate = /^(?<month>\d{1,2})\/(?<day>\d{1,2})\/(?<year>\d{4})$/
const dateTime =
  /^(?<month>\d{1,2})\/(?<day>\d{1,2})\/(?<year>\d{4}) (?<hour>\d{1,2}):(?<minute>\d{2}):(?<second>\d{2}) (?<half>[AaPp])[Mm](?: (?<offset>[+-]\d{2}:\d{2}))?$/
const isoDate = /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})$/
const isoDateTime =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})T(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.(?<fraction>\d{1,9}))?)?(?<offset>Z|[+-]\d{2}(?::?\d{2})?)?$/
const forms = [shortDate, dateTime, isoDate, isoDateTime]

const midnightUtc = (year: number, month: number, day: number): Instant | undefined => {
  // Not Date.UTC, which reads the years 1 to 99 as years of the twentieth century.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  // A day that the month does not have rolls over into another month.
  const exists = year >= 1 && date.getUTCMonth() === month - 1
  return exists ? date.getTime() : undefined
}

/** 12 AM is midnight and 12 PM noon. An hour that no clock face shows becomes NaN, which fails every check. */
const hour24 = (hour: number, half: string): number => {
  if (hour < 1 || hour > 12) return Number.NaN
  return (hour % 12) + (half.toUpperCase() === 'P' ? 12 : 0)
}

const timeOfDayMs = (time: {
  hour: number
  minute: number
  second: number
  milliseconds: number
}): number | undefined => {
  const exists = time.hour <= 23 && time.minute <= 59 && time.second <= 59
  return exists
    ? time.hour * hourMs + time.minute * minuteMs + time.second * 1_000 + time.milliseconds
    : undefined
}

/** `+hh:mm`, in ISO 8601 also `+hhmm` or `+hh`. `Z` or nothing means UTC (§2.3). */
const parseOffset = (text: string | undefined): number | undefined => {
  if (text === undefined || text === 'Z') return 0
  const minutes = Number(text.slice(3).replace(':', ''))
  const size = Number(text.slice(1, 3)) * 60 + minutes
  if (minutes > 59 || size > offsetMaxMinutes) return undefined
  return size === 0 || text.startsWith('+') ? size : -size
}

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
