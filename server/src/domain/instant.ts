/** Milliseconds since the epoch. The domain never asks for the time, it is told. */
export type Instant = number

/** C5: ISO 8601 with milliseconds and the offset `+00:00`, or the offset that the caller used. */
export const formatInstant = (instant: Instant, offsetMinutes = 0): string => {
  const local = new Date(instant + offsetMinutes * 60_000).toISOString()
  return local.slice(0, -1) + formatOffset(offsetMinutes)
}

const formatOffset = (minutes: number): string => {
  const size = Math.abs(minutes)
  const hh = String(Math.floor(size / 60)).padStart(2, '0')
  const mm = String(size % 60).padStart(2, '0')
  return `${minutes < 0 ? '-' : '+'}${hh}:${mm}`
}
