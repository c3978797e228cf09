import { isDigits } from './digits.ts'
import { passesLuhn } from './luhn.ts'
import { text } from './text.ts'
import type { Parse } from './token-type.ts'

export const cardNumberText = (range: { digitsMin: number; digitsMax: number }): Parse =>
  text(
    {
      message: `must be a string of ${range.digitsMin} to ${range.digitsMax} digits without separators`,
      accepts: number => isDigits(number, range.digitsMin, range.digitsMax),
    },
    { message: 'must be a card number: its check digit is wrong', accepts: passesLuhn },
  )

const separators = ['-', ' ', '.', '_']

/** A card number as people write it: in one piece, or grouped as on the card. */
export const spellings = (number: string): string[] => {
  const groups =
    number.length === 15 ? /^(.{4})(.{6})(.{5})$/.exec(number)?.slice(1) : number.match(/.{1,4}/g)
  return [number, ...separators.map(separator => (groups ?? []).join(separator))]
}
