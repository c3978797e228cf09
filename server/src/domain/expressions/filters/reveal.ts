import type { Json } from '../../json/json.ts'
import { countCharacters, offsetOfLast } from '../../text/characters.ts'
import { scalarText } from '../values.ts'
import { filter } from './filter.ts'
import { hide } from './hiding.ts'
import { character, count, optional, text } from './parameters.ts'

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
