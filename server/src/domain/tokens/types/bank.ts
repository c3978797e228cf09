import { fields, textField } from '../forms/fields.ts'
import { accountNumberText, routingNumberText } from '../forms/numbers.ts'
import { type TokenType, wholeDataExpression } from './token-type.ts'

/** §2.2, C10. The routing number names the bank, not the customer: the mask shows it, an id may hold it. */
export const bank: TokenType = {
  name: 'bank',
  container: '/bank/high/',
  ...fields({
    routing_number: { required: true, ...routingNumberText },
    account_number: { required: true, ...accountNumberText({ digitsMin: 1, digitsMax: 17 }) },
  }),
  example: { routing_number: '021000021', account_number: '000123456789' },
  mask: {
    routing_number: '{{ data.routing_number }}',
    account_number: '{{ data.account_number | reveal_last: 4 }}',
  },
  fingerprint: wholeDataExpression,
  transient: {},
  numbers: data => {
    const number = textField(data, 'account_number')
    return number === undefined ? [] : [number]
  },
}
