import { getOwn, isJsonObject, type Json, type JsonObject } from '../../json/json.ts'
import { isLower, isUpper } from '../character-classes.ts'
import { digitText, parseDecimal } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import type { Run } from '../run.ts'
import type { Parameter } from './filter.ts'
import { formatText } from './parameters.ts'

type Expiry = { month: number; year: number }
type Piece = (expiry: Expiry) => string

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** By their upper-case spelling: `MM/yy` is as good as `MM/YY`, since an expiry has no minutes. */
const fields = new Map<string, Piece>([
  ['M', ({ month }) => String(month)],
  ['MM', ({ month }) => twoDigits(month)],
  ['YY', ({ year }) => twoDigits(year % 100)],
  ['YYYY', ({ year }) => String(year).padStart(4, '0')],
])

/** A piece of a format may be a single character. */
const stepsPerCharacter = 300

/** M, MM, YY and YYYY are replaced, other letters are refused, and everything else is copied. */
export const expiryFormat: Parameter<readonly Piece[]> = {
  read: (value, run) => {
    const text = formatText.read(value, run)
    run.budget.charge(text.length * stepsPerCharacter)
    return runsOf(text).map(pieceOf)
  },
}

const pieceOf = (run: string): Piece => {
  const field = fields.get(run.toUpperCase())
  if (field !== undefined) return field
  if ([...run].some(character => isLower(character) || isUpper(character)))
    throw new ExpressionError('a format of M, MM, YY and YYYY is needed')
  return () => run
}

/** The text cut into runs of the same letter: `MM/YYYY` is `MM`, `/`, `YYYY`. */
const runsOf = (text: string): string[] => {
  const runs: string[] = []
  let previous = ''
  for (const character of text) {
    if (character === previous) runs.push((runs.pop() ?? '') + character)
    else runs.push(character)
    previous = character
  }
  return runs
}

export const formatCardExpiry = (card: Json, format: readonly Piece[], run: Run): Json => {
  if (!isJsonObject(card)) throw new ExpressionError('the data of a card is needed')
  const month = partOf(card, 'expiration_month', { least: 1, most: 12 }, run)
  const year = partOf(card, 'expiration_year', { least: 0, most: 9999 }, run)
  if (month === undefined || year === undefined) return null
  run.budget.charge(format.length * stepsPerCharacter)
  return format.map(piece => piece({ month, year })).join('')
}

type Range = { least: number; most: number }

const partOf = (card: JsonObject, name: string, { least, most }: Range, run: Run): number | undefined => {
  const value = getOwn(card, name) ?? null
  if (value === null) return undefined
  const part = typeof value === 'string' ? parseDecimal(digitText(value, run)) : value
  if (typeof part !== 'number' || !Number.isInteger(part) || part < least || part > most)
    throw new ExpressionError('a month and a year in digits are needed')
  return part
}
