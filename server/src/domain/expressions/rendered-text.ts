import { plainDecimal } from '../json/decimal-text.ts'
import { isExactNumber, type Json, stringify } from '../json/json.ts'

/** What an expression has rendered, as text; nothing if it rendered null. */
export const renderedText = (rendered: Json): string => {
  if (rendered === null) return ''
  if (typeof rendered === 'number' || isExactNumber(rendered)) return plainDecimal(rendered)
  return typeof rendered === 'string' ? rendered : stringify(rendered)
}
