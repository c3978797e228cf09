import { passesLuhn } from '../../text/luhn.ts'
import type { Form } from './form.ts'
import { text } from './text.ts'

export const cardNumberText = ({ digitsMin, digitsMax }: { digitsMin: number; digitsMax: number }): Form =>
  text(
    `A card number of ${digitsMin} to ${digitsMax} digits without separators; its check digit must be right.`,
    {
      message: `must be a string of ${digitsMin} to ${digitsMax} digits without separators`,
      pattern: `^[0-9]{${digitsMin},${digitsMax}}$`,
    },
    { message: 'has a wrong check digit', accepts: passesLuhn },
  )
