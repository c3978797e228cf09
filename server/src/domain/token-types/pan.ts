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
