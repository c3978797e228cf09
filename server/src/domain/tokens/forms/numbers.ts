import { passesAba, passesLuhn } from '../../text/digits.ts'
import { type Form, text } from './form.ts'

export const cardNumberText = ({ digitsMin, digitsMax }: { digitsMin: number; digitsMax: number }): Form =>
  text(
    `A card number of ${digitsMin} to ${digitsMax} digits without separators; its check digit must be right.`,
    {
      message: `must be a string of ${digitsMin} to ${digitsMax} digits without separators`,
      pattern: `^[0-9]{${digitsMin},${digitsMax}}$`,
    },
    { message: 'has a wrong check digit', accepts: passesLuhn },
  )

/** Kept as it was sent: leading zeros are part of it. */
export const accountNumberText = ({ digitsMin, digitsMax }: { digitsMin: number; digitsMax: number }): Form =>
  text(`An account number of ${digitsMin} to ${digitsMax} digits.`, {
    message: `must be a string of ${digitsMin} to ${digitsMax} digits`,
    pattern: `^[0-9]{${digitsMin},${digitsMax}}$`,
  })

/** §2.2: nine digits with a checksum. */
export const routingNumberText = text(
  'An ABA routing number of nine digits; its checksum must be right.',
  { message: 'must be a string of nine digits', pattern: '^[0-9]{9}$' },
  { message: 'has a wrong ABA checksum', accepts: passesAba },
)
