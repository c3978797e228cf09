import { passesAba } from './aba.ts'
import { text } from './text.ts'

/** §2.2: nine digits with a checksum. */
export const routingNumberText = text(
  'An ABA routing number of nine digits; its checksum must be right.',
  { message: 'must be a string of nine digits', pattern: '^[0-9]{9}$' },
  { message: 'has a wrong ABA checksum', accepts: passesAba },
)
