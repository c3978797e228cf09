import type { Json } from '../../json/json.ts'
import { countCharacters, offsetAfterFirst, offsetOfLast } from '../../text/characters.ts'
import { prices, type Run } from '../budget.ts'
import { payToCount, scalarText } from '../values.ts'
import { character, count, filter, optional, text } from './filter.ts'

/** The fill character of a mask that names no other. */
export const defaultFill = 'X'

/**
 * Null stays null, so that a mask drops the leaf. `reveal` exists to hide and hides short values in every use;
 * `last4` and `reveal_last` also make search indexes, where the last four of '123' are '123'.
 */
export const revealFilters = {
  last4: filter([], {
    apply: (input, run): Json => {
      if (input === null) return null
      const whole = scalarText(input, run)
      const start = offsetOfLast(whole, 4)
      if (start > 0 || run.use !== 'mask') return whole.slice(start)
      return defaultFill.repeat(countCharacters(whole))
    },
  }),
  reveal_last: filter([count, optional(character, defaultFill)], {
    apply: (input, run, last, fill) => {
      if (input === null) return null
      const hidesShortValues = run.use === 'mask'
      return hide(scalarText(input, run), { first: 0, last, fill, preserve: '', hidesShortValues }, run)
    },
  }),
  reveal: filter(
    [optional(count, 0), optional(count, 0), optional(character, defaultFill), optional(text, '')],
    {
      apply: (input, run, first, last, fill, preserve) => {
        if (input === null) return null
        return hide(scalarText(input, run), { first, last, fill, preserve, hidesShortValues: true }, run)
      },
    },
  ),
}

export type Hiding = {
  /** How many characters stay visible at the start and at the end; separators count. */
  readonly first: number
  readonly last: number
  /** The character that stands for a hidden one. */
  readonly fill: string
  /** Characters that stay visible wherever they are. */
  readonly preserve: string
  /** Whether a value is hidden whole if otherwise nothing of it would be hidden. */
  readonly hidesShortValues: boolean
}

/**
 * The text with its middle hidden, at its own length. If that would not hide a single character, the value is too short
 * for the mask, and showing it would be the opposite of what was asked for. Then all of it is hidden, except for
 * preserved characters (C22).
 */
export const hide = (text: string, hiding: Hiding, run: Run): string => {
  const { first, last, fill, preserve, hidesShortValues } = hiding
  payToCount(text, run)
  const perCharacter = preserve === '' ? prices.copiedCharacter : prices.cutCharacter * 4
  run.budget.charge(text.length * fill.length * perCharacter + preserve.length * prices.cutCharacter)
  const start = offsetAfterFirst(text, first)
  const end = Math.max(start, offsetOfLast(text, last))
  const middle = text.slice(start, end)

  const cover = (part: string): string =>
    preserve === '' ? fill.repeat(countCharacters(part)) : coverBut(part, fill, new Set(preserve))

  const isHiding = preserve === '' ? middle !== '' : coverBut(middle, '', new Set(preserve)) !== middle
  if (!isHiding && hidesShortValues) return cover(text)
  // `join`, not `+`, because the result is written as JSON (see formatInstant).
  return [text.slice(0, start), cover(middle), text.slice(end)].join('')
}

/** Replaces every character except the preserved ones. */
const coverBut = (text: string, fill: string, preserved: ReadonlySet<string>): string => {
  let covered = ''
  for (const character of text) covered += preserved.has(character) ? character : fill
  return covered
}
