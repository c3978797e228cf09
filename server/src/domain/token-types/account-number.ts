import { isDigits } from './digits.ts'
import { text } from './text.ts'
import type { Parse } from './token-type.ts'

/** Kept as it was sent: leading zeros are part of it. */
export const accountNumberText = (range: { digitsMin: number; digitsMax: number }): Parse =>
  text({
    message: `must be a string of ${range.digitsMin} to ${range.digitsMax} digits`,
    accepts: number => isDigits(number, range.digitsMin, range.digitsMax),
  })
