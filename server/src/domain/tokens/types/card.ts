import { isJsonObject } from '../../json/json.ts'
import { limits } from '../../limits.ts'
import { fields, textField } from '../forms/fields.ts'
import { integer, text } from '../forms/form.ts'
import { cardNumberText } from '../forms/numbers.ts'
import type { TokenType } from './token-type.ts'

const month = integer({
  min: 1,
  max: 12,
  digitsMin: 1,
  digitsMax: 2,
  description: 'A month from 1 to 12; digits in a string become an integer.',
  message: 'must be a month from 1 to 12',
})

const year = integer({
  min: 1000,
  max: 9999,
  digitsMin: 4,
  digitsMax: 4,
  description: 'A year of four digits; digits in a string become an integer.',
  message: 'must be a year of four digits',
})

const cvc = text('Three or four digits; deleted one hour after they were written.', {
  message: 'must be a string of three or four digits',
  pattern: '^[0-9]{3,4}$',
})

/** §2.2, C10. Dates in the past are allowed: a vault also keeps cards that are no longer charged. */
export const card: TokenType = {
  name: 'card',
  container: '/pci/high/',
  ...fields({
    number: { required: true, ...cardNumberText({ digitsMin: 12, digitsMax: 19 }) },
    expiration_month: { required: false, ...month },
    expiration_year: { required: false, ...year },
    cvc: { required: false, ...cvc },
  }),
  example: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
  mask: {
    number: '{{ data.number | reveal_last: 4 }}',
    expiration_month: '{{ data.expiration_month }}',
    expiration_year: '{{ data.expiration_year }}',
  },
  fingerprint: '{{ data.number }}',
  transient: { cvc: { lifetimeMs: limits.cvcLifetimeMs } },
  numbers: data => {
    const number = textField(data, 'number')
    return number === undefined ? [] : [number]
  },
  cardNumber: {
    path: ['number'],
    read: data => textField(data, 'number'),
    replace: (data, number) => (isJsonObject(data) ? { ...data, number } : { number }),
    example: number => ({ number, expiration_month: 12, expiration_year: 2030 }),
  },
}
