import { text } from '../forms/form.ts'
import type { TokenType } from './token-type.ts'

/**
 * What the two nine-digit numbers of US authorities share (C9). They are kept as sent, with or without
 * dashes, so fingerprint and search look past the dashes.
 */
export const nineDigits: Pick<
  TokenType,
  'parse' | 'schema' | 'mask' | 'fingerprint' | 'searchIndexes' | 'transient' | 'numbers'
> = {
  ...text('Nine digits, with or without dashes.', {
    message: 'must be a string of nine digits, with or without dashes',
    pattern: '^[0-9](?:-?[0-9]){8}$',
  }),
  mask: "{{ data | reveal: 0, 4, 'X', '-' }}",
  fingerprint: "{{ data | remove: '-' }}",
  searchIndexes: ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'],
  transient: {},
  numbers: data => (typeof data === 'string' ? [data.replaceAll('-', '')] : []),
}
