import { prices, type Run } from '../budget.ts'
import { ExpressionError } from '../expression-error.ts'
import { textOf } from '../values.ts'
import { filter } from './filter.ts'

const htmlEntities = new Map([
  [0x26, '&amp;'],
  [0x3c, '&lt;'],
  [0x3e, '&gt;'],
  [0x22, '&#34;'],
  [0x27, '&#39;'],
])

/** Percent-encoding one UTF-16 unit, which is up to nine characters then. */
const stepsPerEncodedUnit = 90

const urlEncode = (input: string, run: Run): string => {
  if (!input.isWellFormed()) throw new ExpressionError('well-formed text is needed')
  run.budget.charge(input.length * stepsPerEncodedUnit)
  return encodeURIComponent(input).replaceAll('%20', '+')
}

const urlDecode = (input: string, run: Run): string => {
  run.budget.charge(input.length * 8 * prices.copiedCharacter)
  try {
    return decodeURIComponent(input.replaceAll('+', ' '))
  } catch {
    throw new ExpressionError('percent-encoded text is needed')
  }
}

const escapeHtml = (input: string, run: Run): string => {
  run.budget.charge(input.length * prices.walkedCharacter)
  let escaped = ''
  let start = 0
  for (let offset = 0; offset < input.length; offset++) {
    const entity = htmlEntities.get(input.charCodeAt(offset))
    if (entity === undefined) continue
    run.budget.charge(prices.piece)
    escaped += input.slice(start, offset) + entity
    start = offset + 1
  }
  return escaped + input.slice(start)
}

export const webFilters = {
  url_encode: filter([], { apply: (input, run) => urlEncode(textOf(input, run), run) }),
  url_decode: filter([], { apply: (input, run) => urlDecode(textOf(input, run), run) }),
  escape: filter([], { apply: (input, run) => escapeHtml(textOf(input, run), run) }),
}
