import type { Json } from '../../json/json.ts'
import { isDigit } from '../character-classes.ts'
import { prices } from '../prices.ts'
import type { Run } from '../run.ts'
import { scalarText } from '../values.ts'
import { expiryFormat, formatCardExpiry } from './card-expiry.ts'
import { filter } from './filter.ts'
import { hide } from './hiding.ts'
import { character, flag, optional, text } from './parameters.ts'
import { defaultFill } from './reveal.ts'

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
  }),
}
