import type { Json } from '../../json/json.ts'
import { limits } from '../../limits.ts'
import { countCharacters } from '../../text/characters.ts'
import { tooMuchWork } from '../budget.ts'
import { numberOf } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import { textOf } from '../values.ts'
import type { Parameter } from './filter.ts'

export const anything: Parameter<Json> = { read: value => value }

export const text: Parameter<string> = { read: textOf }

/**
 * The format of a date. One in the data may be as long as one in an expression: each of its fields takes as much work as some
 * twenty characters do.
 */
export const formatText: Parameter<string> = {
  read: (value, run) => {
    const read = textOf(value, run)
    if (read.length > limits.expressionCharactersMax) throw new ExpressionError(tooMuchWork)
    return read
  },
}

/** A number, or text that holds one. */
export const number: Parameter<number> = {
  read: (value, run) => {
    if (value === null) throw new ExpressionError('a number is needed')
    return numberOf(value, run)
  },
}

export const integer: Parameter<number> = {
  read: (value, run) => {
    const read = number.read(value, run)
    if (!Number.isSafeInteger(read)) throw new ExpressionError('a whole number is needed')
    return read
  },
}

/** How many: a whole number from 0. */
export const count: Parameter<number> = {
  read: (value, run) => {
    const read = integer.read(value, run)
    if (read < 0) throw new ExpressionError('a whole number from 0 is needed')
    return read
  },
}

/** true or false, also as text: C22 writes `card_mask: "true","true"`. */
export const flag: Parameter<boolean> = {
  read: value => {
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw new ExpressionError('true or false is needed')
  },
}

/** Exactly one character: with none, or with several, a mask would no longer have the length of its value. */
export const character: Parameter<string> = {
  read: (value, run) => {
    const read = textOf(value, run)
    if (countCharacters(read) !== 1) throw new ExpressionError('a single character is needed')
    return read
  },
}

export const optional = <T>(parameter: Parameter<T>, fallback: T): Parameter<T> => ({
  ...parameter,
  fallback: { value: fallback },
})
