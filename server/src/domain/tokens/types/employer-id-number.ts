import { nineDigits } from './nine-digits.ts'
import type { TokenType } from './token-type.ts'

export const employerIdNumber: TokenType = {
  name: 'employer_id_number',
  container: '/pii/high/',
  ...nineDigits,
  example: '12-3456789',
}
