import { getOwn, isJsonObject, type Json, type JsonObject } from '../../json/json.ts'
import { prices, type Run } from '../budget.ts'
import { isDigit, isLower, isUpper } from '../character-classes.ts'
import { digitText, parseDecimal } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import { scalarText } from '../values.ts'
import { character, filter, flag, formatText, optional, type Parameter, text } from './filter.ts'
import { defaultFill, hide } from './reveal.ts'

/** C22: the issuer's part of a card number. */
export const binLength = (digits: number): number => (digits < 16 ? 6 : 8)

const last4Length = 4

type Shown = { bin: boolean; last4: boolean; fill: string; preserve: string }

/**
 * BIN and last four are counted in digits; separators between shown digits are shown with them. A number
 * whose digits would all show is hidden whole.
 */
const maskCard = (number: string, { bin, last4, fill, preserve }: Shown, run: Run): string => {
  run.budget.charge(number.length * prices.cutCharacter * 2)
  const digitIndexes: number[] = []
  let size = 0
  for (const current of number) {
    if (isDigit(current)) digitIndexes.push(size)
    size++
  }
  const firstDigits = bin ? binLength(digitIndexes.length) : 0
  const lastDigits = last4 ? last4Length : 0
  const isHiding = firstDigits + lastDigits < digitIndexes.length
  const endOfFirst = (digitIndexes[firstDigits - 1] ?? -1) + 1
  const startOfLast = digitIndexes[digitIndexes.length - lastDigits] ?? size
  const hiding = { first: isHiding ? endOfFirst : 0, last: isHiding ? size - startOfLast : 0 }
  return hide(number, { ...hiding, fill, preserve, hidesShortValues: true }, run)
}

/** The BIN without separators. In a mask, a number that is nothing but its BIN is hidden. */
const binOf = (number: string, run: Run): string => {
  run.budget.charge(number.length * prices.cutCharacter * 2)
  let digits = ''
  for (const character of number) if (isDigit(character)) digits += character
  const length = binLength(digits.length)
  if (run.use === 'mask' && digits.length <= length) return defaultFill.repeat(digits.length)
  return digits.slice(0, length)
}

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
const expiryFormat: Parameter<readonly Piece[]> = {
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

const formatCardExpiry = (card: Json, format: readonly Piece[], run: Run): Json => {
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

export const cardFilters = {
  card_mask: filter(
    [optional(flag, false), optional(flag, false), optional(character, defaultFill), optional(text, '')],
    {
      apply: (input, run, bin, last4, fill, preserve) => {
        if (input === null) return null
        return maskCard(scalarText(input, run), { bin, last4, fill, preserve }, run)
      },
    },
  ),
  card_bin: filter([], {
    apply: (input, run): Json => (input === null ? null : binOf(scalarText(input, run), run)),
  }),
  /** Takes the whole data of the card: `{{ data | card_exp: 'MM/YY' }}`. Null if the month or the year is missing. */
  card_exp: filter([expiryFormat], {
    apply: (input, run, format) => (input === null ? null : formatCardExpiry(input, format, run)),
    showsWhole: true,
    cutsNothing: true,
    nullIsMissing: true,
  }),
}
