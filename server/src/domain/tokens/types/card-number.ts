import { cardNumberText } from '../forms/numbers.ts'
import { type TokenType, wholeDataExpression } from './token-type.ts'

export const cardNumber: TokenType = {
  name: 'card_number',
  container: '/pci/high/',
  ...cardNumberText({ digitsMin: 13, digitsMax: 19 }),
  example: '4242424242424242',
  mask: '{{ data | reveal_last: 4 }}',
  fingerprint: wholeDataExpression,
  transient: {},
  numbers: data => (typeof data === 'string' ? [data] : []),
  cardNumber: {
    path: [],
    read: data => (typeof data === 'string' ? data : undefined),
    replace: (_data, number) => number,
    example: number => number,
  },
}
