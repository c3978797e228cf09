import type { Json } from '../../json/json.ts'
import { limits } from '../../limits.ts'
import { prices, type RandomBelow, type Run } from '../budget.ts'
import { isDigit, isLower, isUpper } from '../character-classes.ts'
import { ExpressionError } from '../expression-error.ts'
import { scalarText } from '../values.ts'
import { binLength } from './card.ts'
import { type AliasCharacter, breakLuhn, digits, lookAlikeSteps } from './card-look-alike.ts'
import { count, filter, flag, optional } from './filter.ts'

const lower = 'abcdefghijklmnopqrstuvwxyz'
const upper = lower.toUpperCase()
const alphanumerics = digits + lower + upper

/** A character drawn at random, and tried against those around it. */
const stepsPerDraw = 900

/** The alphabet that a character is redrawn from; undefined keeps the character. */
type Alphabet = (character: string) => string | undefined

/**
 * The same kind of character in the same place; ASCII punctuation and blanks stay as separators. Anything that is not
 * ASCII becomes a lower-case letter: if it were kept, a name in another script would stand in the id in the clear.
 */
const sameKind: Alphabet = character => {
  if (isDigit(character)) return digits
  if (isUpper(character)) return upper
  return isLower(character) || character > '\x7f' ? lower : undefined
}

type Kept = { first: number; last: number; alphabet: Alphabet }

/** Redraws all but the first and last characters; too few redrawn ones would let the value be guessed (C21). */
const redraw = (text: string, { first, last, alphabet }: Kept, run: Run): string => {
  const { random } = run
  if (random === undefined) throw new ExpressionError('a source of randomness is needed')
  run.budget.charge(text.length * prices.cutCharacter)
  const before = [...text]
  // Filters after an alias keep all of it, so a longer one could never become an id.
  if (before.length > limits.idCharactersMax) throw new ExpressionError('too long for an id')
  run.budget.charge(before.length * (stepsPerDraw + lookAlikeSteps))
  const after = before.map((character, index): AliasCharacter => {
    const isKept = index < first || index >= before.length - last
    const letters = isKept ? undefined : alphabet(character)
    return letters === undefined ? { character } : { character: draw(letters, random), alphabet: letters }
  })
  if (after.filter(drawn => drawn.alphabet !== undefined).length < limits.aliasRandomCharactersMin)
    throw new ExpressionError(`at least ${limits.aliasRandomCharactersMin} characters must stay random`)
  return breakLuhn(after, random)
}

const draw = (letters: string, random: RandomBelow): string => letters[random(letters.length)] ?? ''

// Null has no characters to redraw: an alias of it would be the same for every token.
const aliasText = (input: Json, run: Run): string => (input === null ? '' : scalarText(input, run))

const cardDigits = (input: Json, run: Run): string => {
  const number = aliasText(input, run)
  if (number.length < 12 || number.length > 19 || ![...number].every(isDigit))
    throw new ExpressionError('a card number of 12 to 19 digits is needed')
  return number
}

// An argument that is left out means that nothing of the value is kept.
const shown = optional(flag, false)
const kept = optional(count, 0)

export const aliasFilters = {
  alias_card: filter([shown, shown], {
    isAlias: true,
    apply: (input, run, bin, last4) => {
      const number = cardDigits(input, run)
      const first = bin ? binLength(number.length) : 0
      return redraw(number, { first, last: last4 ? 4 : 0, alphabet: () => digits }, run)
    },
  }),
  alias_preserve_format: filter([kept, kept], {
    isAlias: true,
    apply: (input, run, first, last) =>
      redraw(aliasText(input, run), { first, last, alphabet: sameKind }, run),
  }),
  /** As many characters as the value has, with letters and digits in every place: separators are redrawn, too. */
  alias_preserve_length: filter([kept, kept], {
    isAlias: true,
    apply: (input, run, first, last) =>
      redraw(aliasText(input, run), { first, last, alphabet: () => alphanumerics }, run),
  }),
}
