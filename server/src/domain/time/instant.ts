/** Milliseconds since the epoch. The domain never asks for the time, it is told. */
export type Instant = number

/** From `from`, inclusive, to `until`, exclusive; an absent end is open. */
export type InstantRange = { readonly from?: Instant; readonly until?: Instant }

const dayMs = 86_400_000

/** C5: ISO 8601 with milliseconds and the offset `+00:00`, or the offset that the caller used. */
export const formatInstant = (instant: Instant, offsetMinutes = 0): string => {
  if (instant !== known.instant || offsetMinutes !== known.offsetMinutes)
    known = { instant, offsetMinutes, text: formatAnew(instant, offsetMinutes) }
  return known.text
}

// The last one is kept: under load, several tokens are made in a millisecond, and those of one request all are.
let known = { instant: Number.NaN, offsetMinutes: 0, text: '' }

const formatAnew = (instant: Instant, offsetMinutes: number): string => {
  const local = instant + offsetMinutes * 60_000
  const day = Math.floor(local / dayMs)
  const time = local - day * dayMs
  // `join`, not `+`: V8 keeps the result of `+` in pieces, and an object of such texts takes twice as long to write as JSON.
  return [
    dateOf(day),
    'T',
    two(Math.floor(time / 3_600_000)),
    ':',
    two(Math.floor(time / 60_000) % 60),
    ':',
    two(Math.floor(time / 1_000) % 60),
    '.',
    String(time % 1_000).padStart(3, '0'),
    formatOffset(offsetMinutes),
  ].join('')
}

// The last date is kept: the tokens of one answer were mostly made on a few days, and finding the date is most of the work.
let knownDay = Number.NaN
let knownDate = ''
const dateOf = (day: number): string => {
  if (day !== knownDay) {
    knownDate = new Date(day * dayMs).toISOString().slice(0, -14)
    knownDay = day
  }
  return knownDate
}

const two = (value: number): string => (value < 10 ? `0${value}` : String(value))

const formatOffset = (minutes: number): string => {
  if (minutes === 0) return '+00:00'
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}
