import { numberFrom } from '../json/canonical-text.ts'
import { type ExactNumber, isExactNumber, type Json } from '../json/json.ts'
import { prices, type Run } from './budget.ts'
import { isDigit } from './character-classes.ts'
import { ExpressionError } from './expression-error.ts'

/**
 * Reads a decimal number: optional sign, digits, optional fraction and exponent; leading zeros are fine, other
 * bases are not. A number that a double cannot hold comes back exact (C7). Anything else is undefined.
 */
export const parseDecimal = (text: string): number | ExactNumber | undefined => {
  const sign = text.startsWith('-') ? '-' : ''
  const unsigned = text.startsWith('-') || text.startsWith('+') ? text.slice(1) : text
  const wholeEnd = endOfDigits(unsigned, 0)
  if (wholeEnd === 0) return undefined
  let end = wholeEnd
  if (unsigned[end] === '.') end = endOfDigits(unsigned, end + 1)
  if (unsigned[end - 1] === '.') return undefined
  if (unsigned[end] === 'e' || unsigned[end] === 'E') {
    const digits = unsigned[end + 1] === '-' || unsigned[end + 1] === '+' ? end + 2 : end + 1
    end = endOfDigits(unsigned, digits)
    if (end === digits) return undefined
  }
  if (end !== unsigned.length) return undefined
  // JSON allows no leading zeros; one stays where the whole part is nothing but zeros.
  let start = 0
  while (start < wholeEnd - 1 && unsigned[start] === '0') start++
  return numberFrom(sign + unsigned.slice(start))
}

/**
 * A number to calculate with. Liquid reads anything that is not a number as 0; here that is an error, and so is a
 * number that a double cannot hold, because the result would be silently wrong (C21). Only null counts as 0.
 */
export const numberOf = (value: Json, run: Run): number => {
  if (typeof value === 'number') return value
  if (value === null) return 0
  const parsed = typeof value === 'string' ? parseDecimal(digitText(value, run).trim()) : value
  if (isExactNumber(parsed)) throw new ExpressionError('the number has too many digits to calculate with')
  if (typeof parsed !== 'number') throw new ExpressionError('a number is needed')
  return parsed
}

/** Text that may hold a number, paid for. */
export const digitText = (value: string, run: Run): string => {
  run.budget.charge(value.length * prices.cutCharacter * 2)
  return value
}

const endOfDigits = (text: string, start: number): number => {
  let end = start
  while (isDigit(text[end] ?? '')) end++
  return end
}
