import { isExactNumber, type Json } from '../../json/json.ts'
import type { Run } from '../budget.ts'
import { digitText, parseDecimal } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import { readPath } from '../operand.ts'
import { textOf } from '../values.ts'
import { anything, filter } from './filter.ts'
import { jsonPath } from './json-path.ts'

/** Null stays null in all of these: what is missing must not turn into a value. */
const toText = (input: Json, run: Run): Json => (input === null ? null : textOf(input, run))

const toNumber = (value: Json, run: Run): Json => {
  if (value === null || typeof value === 'number' || isExactNumber(value)) return value
  if (typeof value === 'boolean') return Number(value)
  const parsed = typeof value === 'string' ? parseDecimal(digitText(value, run).trim()) : undefined
  if (parsed === undefined) throw new ExpressionError('text that holds a number is needed')
  return parsed
}

const toBoolean = (value: Json, run: Run): boolean => {
  const word = typeof value === 'string' ? digitText(value, run).trim().toLowerCase() : value
  if (word === true || word === 'true' || word === 1) return true
  if (word === false || word === 'false' || word === 0) return false
  throw new ExpressionError('true or false is needed')
}

const isReplaced = (value: Json): boolean =>
  value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)

export const convertFilters = {
  /** Text stays text, anything else becomes compact JSON. `8` and `"8"` both become `8`, yet must not share a fingerprint. */
  stringify: filter([], { apply: toText, showsWhole: true, keepsInputType: true, cutsNothing: true }),
  to_string: filter([], { apply: toText, cutsNothing: true }),
  /** Keeps every digit: a number that a double cannot hold comes out exact. */
  to_number: filter([], { apply: (input, run) => toNumber(input, run) }),
  to_boolean: filter([], { apply: (input, run): Json => (input === null ? null : toBoolean(input, run)) }),
  /** Replaces null, false, '' and []. */
  default: filter([anything], {
    apply: (input, _run, instead) => (isReplaced(input) ? instead : input),
    cutsNothing: true,
  }),
  /** The value at one JSONPath, or null. The input is data, not JSON text: there is nothing inside a text. */
  json: filter([jsonPath], {
    apply: (input, _run, path) => readPath(input, path),
    names: path => path,
    cutsNothing: true,
  }),
}
