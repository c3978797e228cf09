import { routingNumberText } from '../forms/numbers.ts'
import { type TokenType, wholeDataExpression } from './token-type.ts'

export const usBankRoutingNumber: TokenType = {
  name: 'us_bank_routing_number',
  container: '/bank/low/',
  ...routingNumberText,
  example: '021000021',
  mask: '{{ data | reveal_last: 4 }}',
  fingerprint: wholeDataExpression,
  transient: {},
  numbers: data => (typeof data === 'string' ? [data] : []),
}
