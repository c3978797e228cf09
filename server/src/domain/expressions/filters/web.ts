import { ExpressionError } from '../expression-error.ts'
import type { Run } from '../run.ts'
import { textOf } from '../values.ts'
import { filter } from './filter.ts'

const htmlEntities = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&#34;'],
  ["'", '&#39;'],
])

const unreserved = new Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()")

/** The length of one UTF-16 unit after percent-encoding: three characters for each UTF-8 byte. */
const encodedLength = (unit: number): number => {
  if (unit < 0x80) return unreserved.has(String.fromCharCode(unit)) ? 1 : 3
  if (unit < 0x800) return 6
  // Half of a surrogate pair's four bytes, or a whole character of three.
  return unit >= 0xd800 && unit < 0xe000 ? 6 : 9
}

const urlEncode = (input: string, run: Run): string => {
  if (!input.isWellFormed()) throw new ExpressionError('well-formed text is needed')
  let length = 0
  for (let offset = 0; offset < input.length; offset++) length += encodedLength(input.charCodeAt(offset))
  run.budget.charge(length)
  return encodeURIComponent(input).replaceAll('%20', '+')
}

const urlDecode = (input: string, run: Run): string => {
  run.budget.charge(input.length)
  try {
    return decodeURIComponent(input.replaceAll('+', ' '))
  } catch {
    throw new ExpressionError('percent-encoded text is needed')
  }
}

const escapeHtml = (input: string, run: Run): string => {
  let length = 0
  for (const character of input) length += htmlEntities.get(character)?.length ?? character.length
  run.budget.charge(length)
  let escaped = ''
  for (const character of input) escaped += htmlEntities.get(character) ?? character
  return escaped
}

export const webFilters = {
  url_encode: filter([], { apply: (input, run) => urlEncode(textOf(input, run), run) }),
  url_decode: filter([], { apply: (input, run) => urlDecode(textOf(input, run), run) }),
  escape: filter([], { apply: (input, run) => escapeHtml(textOf(input, run), run) }),
}
