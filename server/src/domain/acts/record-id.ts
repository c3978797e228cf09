import type { Instant } from '../time/instant.ts'

/** What all record ids of a process have between their time and their number: a version, a variant, and 42 random bits. */
export type RecordIdBase = string

/** From six random bytes. */
export const recordIdBase = (random: Uint8Array): RecordIdBase => {
  const digits = Buffer.from(random).toString('hex')
  const variant = (((random[0] ?? 0) & 0x3) | 0x8).toString(16)
  return `7${digits.slice(1, 4)}-${variant}${digits.slice(4, 7)}-${digits.slice(7, 11)}`
}

/**
 * Makes UUIDv7s that end with a number: they cost nothing until somebody reads them, and sort in the order in which acts were
 * recorded.
 */
export const recordIds = (base: RecordIdBase): ((at: Instant, number: number) => string) => {
  let timed: Instant | undefined
  let start = ''
  return (at, number) => {
    if (at !== timed) {
      const time = at.toString(16).padStart(12, '0')
      timed = at
      start = `${time.slice(0, 8)}-${time.slice(8)}-${base}`
    }
    return start + (number >>> 0).toString(16).padStart(8, '0')
  }
}
