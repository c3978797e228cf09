import { type TokenType, wholeDataExpression } from './token-type.ts'

/** Anything but null. */
export const token: TokenType = {
  name: 'token',
  container: '/general/high/',
  parse: (data, place, issues) => {
    if (data !== null) return data
    issues.push({ path: place, message: 'must not be null' })
    return undefined
  },
  schema: { description: 'Any JSON but null.' },
  example: 'Sensitive value',
  fingerprint: wholeDataExpression,
  transient: {},
  numbers: () => [],
}
