import type { Json } from '../../json/json.ts'
import { countCharacters, isAscii, offsetAfterFirst } from '../../text/characters.ts'
import { prices, type Run } from '../budget.ts'
import { findAll, piecesBetween } from '../find-text.ts'
import { payToCount, scalarText, textOf } from '../values.ts'
import { character, count, filter, optional, text } from './filter.ts'

/** Without the blanks at an end; null is '' as in Liquid. */
const trimmed = (change: (input: string) => string) =>
  filter([], {
    apply: (input, run) => {
      const before = textOf(input, run)
      run.budget.charge(before.length * prices.copiedCharacter)
      return change(before)
    },
  })

/** Letter case changes with a copy. In ASCII that takes a nanosecond for each character, in Greek sixty. */
const recase = (change: (input: string) => string) =>
  filter([], {
    keepsCharacters: true,
    apply: (input, run) => {
      const before = textOf(input, run)
      run.budget.charge(
        before.length * (isAscii(before) ? 2 * prices.copiedCharacter : stepsPerFoldedCharacter),
      )
      return change(before)
    },
  })

const stepsPerFoldedCharacter = 60

const concatenate = (left: string, right: string, run: Run): string => {
  run.budget.charge((left.length + right.length) * prices.copiedCharacter)
  return left + right
}

/** The first letter in upper case, all others in lower case. */
const capitalize = (input: string): string => {
  const rest = offsetAfterFirst(input, 1)
  return input.slice(0, rest).toUpperCase() + input.slice(rest).toLowerCase()
}

/** Pieces of the text; an empty separator cuts between all characters. */
const cut = (input: string, separator: string, run: Run): string[] => {
  if (separator !== '') return piecesBetween(input, findAll(input, separator, run), separator.length)
  run.budget.charge(input.length * prices.cutCharacter)
  return [...input]
}

const replaceAll = (input: Json, pattern: string, replacement: string, run: Run): string => {
  const before = textOf(input, run)
  const pieces = cut(before, pattern, run)
  run.budget.charge(
    pieces.length * prices.piece +
      (before.length + (pieces.length - 1) * replacement.length) * prices.copiedCharacter,
  )
  return pieces.join(replacement)
}

const replaceFirst = (input: Json, pattern: string, replacement: string, run: Run): string => {
  const before = textOf(input, run)
  const [offset] = pattern === '' ? [0] : findAll(before, pattern, run, 1)
  if (offset === undefined) return before
  run.budget.charge((before.length + replacement.length) * prices.copiedCharacter)
  return before.slice(0, offset) + replacement + before.slice(offset + pattern.length)
}

/** Adds what is missing on one side. Null has nothing to pad and stays null, so that a mask drops it. */
const pad = (add: (input: string, padding: string) => string) =>
  filter([count, optional(character, ' ')], {
    apply: (input, run, width, fill) => {
      if (input === null) return null
      const before = scalarText(input, run)
      payToCount(before, run)
      const missing = Math.max(0, width - countCharacters(before))
      run.budget.charge(missing * fill.length * prices.copiedCharacter)
      return add(before, fill.repeat(missing))
    },
  })

export const textFilters = {
  append: filter([text], {
    keepsCharacters: true,
    apply: (input, run, end) => concatenate(textOf(input, run), end, run),
  }),
  prepend: filter([text], {
    keepsCharacters: true,
    apply: (input, run, start) => concatenate(start, textOf(input, run), run),
  }),
  capitalize: recase(capitalize),
  upcase: recase(input => input.toUpperCase()),
  downcase: recase(input => input.toLowerCase()),
  strip: trimmed(input => input.trim()),
  lstrip: trimmed(input => input.trimStart()),
  rstrip: trimmed(input => input.trimEnd()),
  pad_left: pad((input, padding) => padding + input),
  pad_right: pad((input, padding) => input + padding),

  split: filter([text], {
    apply: (input, run, separator) => {
      const pieces = cut(textOf(input, run), separator, run)
      // As in Ruby: "a,b,," has two pieces.
      while (pieces.at(-1) === '') pieces.pop()
      return pieces
    },
  }),
  replace: filter([text, text], {
    apply: (input, run, pattern, replacement) => replaceAll(input, pattern, replacement, run),
  }),
  replace_first: filter([text, text], {
    apply: (input, run, pattern, replacement) => replaceFirst(input, pattern, replacement, run),
  }),
  remove: filter([text], { apply: (input, run, pattern) => replaceAll(input, pattern, '', run) }),
  remove_first: filter([text], { apply: (input, run, pattern) => replaceFirst(input, pattern, '', run) }),

  /** Shortens to `length` characters, including the ellipsis. A value that fits stays as it is. */
  truncate: filter([optional(count, 50), optional(text, '...')], {
    apply: (input, run, length, ellipsis) => {
      const before = textOf(input, run)
      payToCount(before, run)
      payToCount(ellipsis, run)
      if (countCharacters(before) <= length) return input
      const kept = offsetAfterFirst(before, Math.max(0, length - countCharacters(ellipsis)))
      return concatenate(before.slice(0, kept), ellipsis, run)
    },
  }),
}
