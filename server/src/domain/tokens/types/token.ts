import { type Json, stringify } from '../../json/json.ts'
import { limits } from '../../limits.ts'
import { type TokenType, wholeDataExpression } from './token-type.ts'

/**
 * Data may be longer than the body that brought it: a patch adds to what is there, and `1e20` is kept as
 * `100000000000000000000`. A text or a single number is never longer by much.
 */
const isTooLong = (data: Json): boolean =>
  typeof data === 'object' && Buffer.byteLength(stringify(data)) > limits.bodyBytes

/** Anything but null. */
export const token: TokenType = {
  name: 'token',
  container: '/general/high/',
  parse: (data, place, issues) => {
    if (data === null) issues.push({ path: place, message: 'must not be null' })
    else if (isTooLong(data))
      issues.push({
        path: place,
        message: `must have at most ${limits.bodyBytes} bytes, with numbers in full`,
      })
    else return data
    return undefined
  },
  schema: { description: 'Any JSON but null.' },
  example: 'Sensitive value',
  fingerprint: wholeDataExpression,
  transient: {},
  numbers: () => [],
}
