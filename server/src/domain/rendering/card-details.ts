import { binLength } from '../expressions/filters/card.ts'
import type { JsonObject } from '../json/json.ts'

/**
 * Brands by the prefixes that they publish, the longest first: a brand has a range of prefixes of one length. Where ranges meet, the
 * first that fits counts.
 */
const brands: readonly (readonly [brand: string, digits: number, from: number, to: number])[] = [
  ['mir', 4, 2200, 2204],
  ['discover', 4, 6011, 6011],
  ['discover', 3, 644, 649],
  ['discover', 2, 65, 65],
  ['american-express', 2, 34, 34],
  ['american-express', 2, 37, 37],
  ['diners-club', 3, 300, 305],
  ['diners-club', 4, 3095, 3095],
  ['diners-club', 2, 36, 36],
  ['diners-club', 2, 38, 39],
  ['jcb', 4, 3528, 3589],
  ['mastercard', 2, 51, 55],
  ['mastercard', 4, 2221, 2720],
  ['unionpay', 2, 62, 62],
  ['unionpay', 2, 81, 81],
  ['visa', 1, 4, 4],
  ['maestro', 2, 50, 50],
  ['maestro', 2, 56, 58],
  ['maestro', 1, 6, 6],
]

const brandOf = (number: string): string | undefined =>
  brands.find(([, digits, from, to]) => {
    const prefix = Number(number.slice(0, digits))
    return prefix >= from && prefix <= to
  })?.[0]

/** What can be told of a card by its number alone (U6). Nothing is said of the brand where no public prefix says it. */
export const cardDetails = (number: string): JsonObject => {
  const brand = brandOf(number)
  return {
    bin: number.slice(0, binLength(number.length)),
    last4: number.slice(-4),
    ...(brand !== undefined && { brand }),
  }
}
