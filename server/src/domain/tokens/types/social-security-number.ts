import { nineDigits } from './nine-digits.ts'
import type { TokenType } from './token-type.ts'

export const socialSecurityNumber: TokenType = {
  name: 'social_security_number',
  container: '/pii/high/',
  ...nineDigits,
  example: '078-05-1120',
}
