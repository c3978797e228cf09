const idLength = 36
/** The first of 2020: counted from here, milliseconds and counter fill the 53 bits of a safe integer until 2089. */
const epoch = Date.UTC(2020)
const timeMax = 2 ** 41
const counters = 2 ** 12
/** An id that a caller chose may tell any time; by its number the row would lie among older ones, or far ahead. */
const toleranceMs = 60_000

/**
 * The number that a token's row has in its table, told from its id: the milliseconds of a UUIDv7 and the twelve bits
 * behind them (crypto/token-id.ts). By id alone a row takes two look-ups, in the index of ids and in the table, each
 * on a page that is seldom in memory. Null for an id of another form. A hint and no more: the number may be another
 * row's, and rows of earlier releases have other numbers; what is not found by it is found by the index.
 */
export const rowNumberOf = (id: string): number | null => {
  if (id.length !== idLength || id[14] !== '7') return null
  const time = hexAt(id, 0, 8) * 0x1_0000 + hexAt(id, 9, 13) - epoch
  const counter = hexAt(id, 15, 18)
  return time >= 0 && time < timeMax && counter >= 0 ? time * counters + counter : null
}

/** The number for a row that is to be written; null: the next free one. */
export const rowNumberFor = ({ id, createdAt }: { id: string; createdAt: number }): number | null => {
  const number = rowNumberOf(id)
  if (number === null) return null
  const idTime = Math.floor(number / counters) + epoch
  return Math.abs(idTime - createdAt) <= toleranceMs ? number : null
}

/** NaN where a character is no digit. */
const hexAt = (text: string, from: number, to: number): number => {
  let value = 0
  for (let at = from; at < to; at++) value = value * 16 + (digits[text.charCodeAt(at)] ?? Number.NaN)
  return value
}

const digits: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code))
  return digit < 0 ? undefined : digit
})
