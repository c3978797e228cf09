import type { Instant } from '../time/instant.ts'

/** The random part that all record ids of a process share: twelve bits, and thirty after the variant. */
export type RecordIdBase = string

/** From eleven random bytes' worth of hexadecimal digits. */
export const recordIdBase = (random: Uint8Array): RecordIdBase => {
  const digits = Buffer.from(random).toString('hex')
  const variant = (((random[0] ?? 0) & 0x3) | 0x8).toString(16)
  return `7${digits.slice(2, 5)}-${variant}${digits.slice(5, 8)}-${digits.slice(8, 12)}`
}

/** A UUIDv7 that ends with a number: it costs nothing until somebody reads it, and sorts in the order in which acts were recorded. */
export const recordId = (base: RecordIdBase, at: Instant, number: number): string => {
  const time = at.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-${base}${(number >>> 0).toString(16).padStart(8, '0')}`
}
