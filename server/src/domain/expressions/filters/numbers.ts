import { prices } from '../budget.ts'
import { numberOf } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import { filter, flag, integer, number, optional } from './filter.ts'

/** A result that JSON can express; -0 becomes 0. */
const finite = (result: number): number => {
  if (!Number.isFinite(result)) throw new ExpressionError('the result is too large')
  return result + 0
}

const unary = (calculate: (value: number) => number) =>
  filter([], { apply: (input, run) => finite(calculate(numberOf(input, run))) })

const binary = (calculate: (value: number, argument: number) => number) =>
  filter([number], { apply: (input, run, argument) => finite(calculate(numberOf(input, run), argument)) })

const nonZero = (divisor: number): number => {
  if (divisor === 0) throw new ExpressionError('division by zero')
  return divisor
}

/** Moves the decimal point in the number's text: 1.005 × 100 would be 100.49999999999999. */
const shiftPoint = (value: number, places: number): number => {
  const [mantissa, exponent = '0'] = String(value).split('e')
  return Number(`${mantissa}e${Number(exponent) + places}`)
}

/** Rounds halves away from zero. */
const round = (value: number, places: number): number => {
  const scaled = shiftPoint(Math.abs(value), places)
  // Beyond this all doubles are whole already.
  if (scaled > Number.MAX_SAFE_INTEGER) return value
  const rounded = shiftPoint(Math.round(scaled), -places)
  return value < 0 ? -rounded : rounded
}

export const numberFilters = {
  plus: binary((value, argument) => value + argument),
  minus: binary((value, argument) => value - argument),
  times: binary((value, argument) => value * argument),
  /** Divides as doubles do; with `true` as the second argument the result is rounded down. */
  divided_by: filter([number, optional(flag, false)], {
    apply: (input, run, divisor, isInteger) => {
      const quotient = numberOf(input, run) / nonZero(divisor)
      return finite(isInteger ? Math.floor(quotient) : quotient)
    },
  }),
  /** Has the sign of the divisor; rounds as the common implementations of Liquid do. */
  modulo: binary((value, divisor) => ((value % nonZero(divisor)) + divisor) % divisor),
  round: filter([optional(integer, 0)], {
    apply: (input, run, places) => {
      run.budget.charge(4 * prices.numberText)
      return finite(round(numberOf(input, run), places))
    },
  }),
  ceil: unary(Math.ceil),
  floor: unary(Math.floor),
  abs: unary(Math.abs),
  at_least: binary(Math.max),
  at_most: binary(Math.min),
}
