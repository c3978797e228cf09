import { accountNumberText } from '../forms/numbers.ts'
import { type TokenType, wholeDataExpression } from './token-type.ts'

export const usBankAccountNumber: TokenType = {
  name: 'us_bank_account_number',
  container: '/bank/high/',
  ...accountNumberText({ digitsMin: 3, digitsMax: 17 }),
  example: '000123456789',
  mask: '{{ data | reveal_last: 4 }}',
  fingerprint: wholeDataExpression,
  transient: {},
  numbers: data => (typeof data === 'string' ? [data] : []),
}
