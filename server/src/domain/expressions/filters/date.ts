import type { Json } from '../../json/json.ts'
import type { Run } from '../budget.ts'
import { digitText, parseDecimal } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import { parseIsoDate } from '../iso-date.ts'
import { type Format, parseFormat } from '../strftime.ts'
import { filter, formatText, type Parameter } from './filter.ts'

/** Reading a field of a date and padding it; as much again for reading the letter in a format that comes from the data. */
const stepsPerPiece = 800

const format: Parameter<Format> = {
  read: (value, run) => {
    const text = formatText.read(value, run)
    run.budget.charge(text.length * stepsPerPiece)
    return parseFormat(text)
  },
}

// The last instant that a Date can hold; beyond it every field is NaN.
const instantMax = 8_640_000_000_000_000

/**
 * ISO 8601 text, or seconds since 1970 as a number or in digits. Liquid returns whatever it cannot read; here that is
 * an error, because a mask that meant to show a year would show the whole value.
 */
const instantOf = (input: Json, run: Run): number => {
  const seconds = typeof input === 'string' ? parseDecimal(digitText(input, run)) : input
  const instant = typeof seconds === 'number' ? seconds * 1_000 : undefined
  const found = instant ?? (typeof input === 'string' ? parseIsoDate(input) : undefined)
  if (found === undefined || !(Math.abs(found) <= instantMax))
    throw new ExpressionError('a date is needed, as ISO 8601 text or in seconds since 1970')
  return found
}

export const dateFilters = {
  date: filter([format], {
    apply: (input, run, pieces) => {
      if (input === null) return null
      const instant = new Date(instantOf(input, run))
      let text = ''
      for (const piece of pieces) {
        run.budget.charge(stepsPerPiece)
        text += piece(instant)
      }
      return text
    },
  }),
}
