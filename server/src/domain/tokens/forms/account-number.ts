import type { Form } from './form.ts'
import { text } from './text.ts'

/** Kept as it was sent: leading zeros are part of it. */
export const accountNumberText = ({ digitsMin, digitsMax }: { digitsMin: number; digitsMax: number }): Form =>
  text(`An account number of ${digitsMin} to ${digitsMax} digits.`, {
    message: `must be a string of ${digitsMin} to ${digitsMax} digits`,
    pattern: `^[0-9]{${digitsMin},${digitsMax}}$`,
  })
