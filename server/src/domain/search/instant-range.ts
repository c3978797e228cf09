import { parseDateTime } from '../time/date-time.ts'
import { dayMs, type Instant, type InstantRange } from '../time/instant.ts'
import type { RangeValue } from './lexer.ts'

/** A date without a time stands for its whole day in UTC, a date with a time for one millisecond. */
export const readInstant = (text: string): Required<InstantRange> | undefined => {
  const from = parseDateTime(text)?.at
  return from === undefined ? undefined : { from, until: from + (text.includes(':') ? 1 : dayMs) }
}

/**
 * `[a TO b]` includes both ends whole, `{a TO b}` neither. Undefined if an end is not a date or the first lies after all of the
 * last: a time may be within the day that ends the range.
 */
export const readRange = ({ from, to, holdsFrom, holdsTo }: RangeValue): InstantRange | undefined => {
  const first: InstantRange | undefined = from === undefined ? {} : readInstant(from)
  const last: InstantRange | undefined = to === undefined ? {} : readInstant(to)
  if (first === undefined || last === undefined) return undefined
  if (first.from !== undefined && last.until !== undefined && first.from >= last.until) return undefined
  const start = holdsFrom ? first.from : first.until
  const end = holdsTo ? last.until : last.from
  return { ...(start !== undefined && { from: start }), ...(end !== undefined && { until: end }) }
}

export const isWithin = (instant: Instant, { from, until }: InstantRange): boolean =>
  (from === undefined || instant >= from) && (until === undefined || instant < until)

/** The overlap of the two, which may be empty. */
export const intersect = (a: InstantRange, b: InstantRange): InstantRange => {
  const from = larger(a.from, b.from)
  const until = smaller(a.until, b.until)
  return { ...(from !== undefined && { from }), ...(until !== undefined && { until }) }
}

export const isEmpty = ({ from, until }: InstantRange): boolean =>
  from !== undefined && until !== undefined && from >= until

const larger = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)
const smaller = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
