import { passesAba } from './aba.ts'
import { isDigits } from './digits.ts'
import { text } from './text.ts'
import type { Parse } from './token-type.ts'

/** §2.2: nine digits with a checksum. */
export const routingNumberText: Parse = text(
  { message: 'must be a string of nine digits', accepts: number => isDigits(number, 9, 9) },
  { message: 'must be an ABA routing number: its checksum is wrong', accepts: passesAba },
)
