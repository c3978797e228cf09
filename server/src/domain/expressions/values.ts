import { canonicalText } from '../json/canonical-json.ts'
import { plainDecimal } from '../json/decimal-text.ts'
import { type ExactNumber, getOwn, isExactNumber, isJsonObject, type Json, stringify } from '../json/json.ts'
import { limits } from '../limits.ts'
import { ExpressionError } from './expression-error.ts'
import type { Run } from './run.ts'

// Data is at most `jsonDepth` levels deep, and filters wrap a value in an array at most once.
const depthMax = limits.jsonDepth + 2

/**
 * A value as text, paid for. Objects and arrays are compact JSON: Liquid would run the elements of an array
 * together, and ["1","23"] must not fingerprint like ["12","3"]. The spelling of a number is not part of a value, nor is the order
 * of keys (C7): a number is its digits, and for fingerprints the JSON is canonical (C14), which writes some doubles with
 * an exponent.
 */
export const textOf = (value: Json, run: Run): string => {
  pay(value, units => run.budget.charge(units))
  if (value === null) return ''
  if (typeof value === 'string') return value
  if (isExactNumber(value)) return digitsOf(value, run)
  if (run.use === 'fingerprint') return canonicalText(value)
  return typeof value === 'number' ? digitsOf(value, run) : stringify(value)
}

/** Doubles that JavaScript writes with an exponent, and exact numbers, take a microsecond to be written in digits. */
const stepsPerSpelling = 32

const isSpelled = (value: number | ExactNumber): boolean =>
  isExactNumber(value) || Math.abs(value) >= 1e21 || (value !== 0 && Math.abs(value) < 1e-6)

const digitsOf = (value: number | ExactNumber, run: Run): string => {
  if (isSpelled(value)) run.budget.charge(stepsPerSpelling)
  const digits = plainDecimal(value)
  // Zeros that an exponent stood for.
  run.budget.charge(Math.max(0, digits.length - scalarSize(value)))
  return digits
}

/** The text of a value that has characters a user would count: text or a number. */
export const scalarText = (value: Json, run: Run): string => {
  if (typeof value !== 'string' && typeof value !== 'number' && !isExactNumber(value))
    throw new ExpressionError('text or a number is needed')
  return textOf(value, run)
}

/** A list for the array filters, as Liquid makes one: null is empty, any other value is its only element. */
export const listOf = (value: Json, run: Run): readonly Json[] => {
  const list = Array.isArray(value) ? value : value === null ? [] : [value]
  run.budget.charge(list.length)
  return list
}

/**
 * Charges for the characters of the value's JSON (an escape counts as the one character it stands for). It charges
 * while it walks: an array may hold one large value many times, and the walk must end where the budget does.
 */
export const pay = (value: Json, charge: (units: number) => void, depth = 0): void => {
  if (depth > depthMax) throw new ExpressionError('the value is too deep')
  if (Array.isArray(value)) {
    charge(1 + Math.max(1, value.length))
    for (const element of value) pay(element, charge, depth + 1)
  } else if (isJsonObject(value)) {
    const keys = Object.keys(value)
    charge(1 + Math.max(1, keys.length))
    for (const key of keys) {
      charge(key.length + 3)
      pay(getOwn(value, key) ?? null, charge, depth + 1)
    }
  } else charge(scalarSize(value))
}

const scalarSize = (value: string | number | boolean | null | ExactNumber): number => {
  if (typeof value === 'string') return value.length + 2
  return isExactNumber(value) ? value.rawJSON.length : String(value).length
}
