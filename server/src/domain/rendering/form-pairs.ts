import { ExpressionError } from '../expressions/expression-error.ts'
import { holdsExpression } from './template.ts'

/** A name or a value of a form that holds expressions: where it stands in the text, and what it says. */
export type FormPart = { readonly start: number; readonly end: number; readonly decoded: string }

/** The names and values of a form that hold expressions, in order (U12). Throws ExpressionError where one cannot be read. */
export function* formPartsWithExpressions(text: string): Generator<FormPart> {
  const braces = new RegExp(bracesWritten)
  for (let hit = braces.exec(text); hit !== null; hit = braces.exec(text)) {
    const pairStart = text.lastIndexOf('&', hit.index) + 1
    const pairEnd = endOfPair(text, hit.index)
    const equals = text.slice(pairStart, pairEnd).indexOf('=')
    const isName = equals === -1 || hit.index < pairStart + equals
    const start = isName ? pairStart : pairStart + equals + 1
    const end = isName && equals !== -1 ? pairStart + equals : pairEnd
    braces.lastIndex = end
    const decoded = decode(text.slice(start, end))
    if (holdsExpression(decoded)) yield { start, end, decoded }
  }
}

const endOfPair = (text: string, from: number): number => {
  const end = text.indexOf('&', from)
  return end === -1 ? text.length : end
}

/** A pair is named by its position, as its name may be a value (C2). */
export const formPlace = (text: string, start: number): string =>
  `[key ${text.slice(0, start).split('&').length}]`

/** Two braces, each as it is or percent-encoded. */
const bracesWritten = /(?:\{|%7b)(?:\{|%7b)/gi

const decode = (raw: string): string => {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '))
  } catch {
    throw new ExpressionError('percent-encoded UTF-8 is needed')
  }
}

/** A text as a form carries it. */
export const encodeFormPart = (text: string): string => {
  if (!text.isWellFormed()) throw new ExpressionError('well-formed text is needed')
  return encodeURIComponent(text).replaceAll('%20', '+')
}
