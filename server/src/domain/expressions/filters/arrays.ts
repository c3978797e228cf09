import { canonicalText } from '../../json/canonical-text.ts'
import { isExactNumber, type Json } from '../../json/json.ts'
import { countCharacters, offsetAfterFirst, offsetOfLast } from '../../text/characters.ts'
import { prices, type Run } from '../budget.ts'
import { ExpressionError } from '../expression-error.ts'
import { readPath } from '../operand.ts'
import { walk } from '../size.ts'
import type { Segment } from '../syntax.ts'
import { listOf, payToCount, textOf } from '../values.ts'
import { anything, filter, integer, optional, type Parameter, text } from './filter.ts'

/** `a.b`, as Liquid's `map` and `sort` take it. Always a literal, so that an expression's paths are all known. */
const property: Parameter<readonly Segment[]> = {
  isLiteralOnly: true,
  read: value => {
    if (typeof value !== 'string' || value === '') throw new ExpressionError('a property name is needed')
    return value.split('.')
  },
}

const join = (input: Json, separator: string, run: Run): string => {
  const list = listOf(input, run)
  run.budget.charge(list.length * prices.piece)
  const pieces = list.map(element => textOf(element, run))
  let length = Math.max(0, pieces.length - 1) * separator.length
  for (const piece of pieces) length += piece.length
  run.budget.charge(length * prices.copiedCharacter)
  return pieces.join(separator)
}

/** One element of a list or one character of text; '' for anything else, as in Liquid. */
const end = (index: 0 | -1, cutText: (input: string) => string) =>
  filter([], {
    apply: input => {
      if (Array.isArray(input)) return input.at(index) ?? null
      return typeof input === 'string' ? cutText(input) : ''
    },
  })

const slice = (input: Json, start: number, length: number, run: Run): Json => {
  if (input === null) return []
  const whole = Array.isArray(input) ? listOf(input, run) : textOf(input, run)
  if (typeof whole === 'string') payToCount(whole, run)
  const size = typeof whole === 'string' ? countCharacters(whole) : whole.length
  const first = start < 0 ? size + start : start
  const isNowhere = first < 0 || length < 0
  if (typeof whole !== 'string') return isNowhere ? [] : whole.slice(first, first + length)
  if (isNowhere) return ''
  const rest = whole.slice(offsetAfterFirst(whole, first))
  return rest.slice(0, offsetAfterFirst(rest, length))
}

/**
 * Numbers compare with numbers and text with text, nulls come last. Other mixes, which Liquid compares as JavaScript
 * would, fail.
 */
const compare = (left: Json, right: Json, run: Run): number => {
  if (typeof left === 'string' && typeof right === 'string') {
    run.budget.charge(stepsPerComparison + Math.min(left.length, right.length) * 2 * prices.copiedCharacter)
    return left < right ? -1 : Number(left > right)
  }
  run.budget.charge(stepsPerComparison)
  if (left === null || right === null) return Number(left === null) - Number(right === null)
  if (typeof left === 'number' && typeof right === 'number') return left - right
  if (isExactNumber(left) || isExactNumber(right))
    throw new ExpressionError('a number has too many digits to be sorted by')
  throw new ExpressionError('a list of only numbers or only text is needed')
}

type Keyed<K extends Json = Json> = { element: Json; key: K }

const stepsPerComparison = 100
const stepsPerNumberComparison = 60

/** Stepping into an object. */
const stepsPerSegment = 250

/** The elements, each with its value at the path. */
const keyed = (input: Json, path: readonly Segment[], run: Run): Keyed[] => {
  const list = listOf(input, run)
  run.budget.charge(list.length * (prices.element + path.length * stepsPerSegment))
  return list.map(element => ({ element, key: readPath(element, path) }))
}

const sort = (input: Json, path: readonly Segment[], run: Run): Json[] => {
  const pairs = keyed(input, path, run)
  return sortPairs(pairs, run).map(({ element }) => element)
}

/** Numbers are paid for together, at most what they can take: charging for each comparison took three times the sorting. */
const sortPairs = (pairs: Keyed[], run: Run): readonly Keyed[] => {
  if (!areNumbers(pairs)) return pairs.sort((left, right) => compare(left.key, right.key, run))
  run.budget.charge(pairs.length * Math.ceil(Math.log2(pairs.length + 1)) * stepsPerNumberComparison)
  return pairs.sort((left, right) => left.key - right.key)
}

const areNumbers = (pairs: Keyed[]): pairs is Keyed<number>[] =>
  pairs.every(({ key }) => typeof key === 'number')

/** Looking a text up in a set, and adding it. */
const stepsPerEntry = 900

/**
 * By value: two equal objects are one. Numbers are told apart by how they are written, too: V8 hashes texts with a secret, but numbers
 * in a way that is known, so that sixty thousand could be chosen that take five seconds to add to a set.
 */
const uniq = (input: Json, run: Run): Json[] => {
  // Apart from each other, as a text may look like an object.
  const texts = new Set<string>()
  const written = new Set<string>()
  const payForWriting = (characters: number, values: number): void =>
    run.budget.charge(characters * prices.canonicalCharacter + values * prices.canonicalValue)
  return listOf(input, run).filter(element => {
    run.budget.charge(stepsPerEntry)
    if (typeof element === 'string') {
      run.budget.charge(element.length * 2 * prices.copiedCharacter)
      return addIfNew(texts, element)
    }
    walk(element, payForWriting)
    return addIfNew(written, canonicalText(element))
  })
}

/** Returns whether the value was missing. */
const addIfNew = (known: Set<string>, value: string): boolean => {
  const { size } = known
  return known.add(value).size > size
}

export const arrayFilters = {
  join: filter([optional(text, ' ')], { apply: (input, run, separator) => join(input, separator, run) }),
  first: end(0, input => input.slice(0, offsetAfterFirst(input, 1))),
  last: end(-1, input => input.slice(offsetOfLast(input, 1))),
  /** Characters of text, elements of an array, 0 for anything else. */
  size: filter([], {
    apply: (input, run) => {
      if (Array.isArray(input)) return input.length
      if (typeof input !== 'string') return 0
      payToCount(input, run)
      return countCharacters(input)
    },
  }),
  slice: filter([integer, optional(integer, 1)], {
    apply: (input, run, start, length) => slice(input, start, length, run),
  }),
  map: filter([property], {
    apply: (input, run, path) => keyed(input, path, run).map(({ key }) => key),
    names: path => path,
  }),
  sort: filter([optional(property, [])], {
    apply: (input, run, path) => sort(input, path, run),
    names: path => path,
  }),
  uniq: filter([], { apply: (input, run) => uniq(input, run) }),
  /** An array, or the characters of a text, in reverse order. */
  reverse: filter([], {
    apply: (input, run) => {
      if (typeof input !== 'string') return listOf(input, run).toReversed()
      run.budget.charge(input.length * prices.cutCharacter * 2)
      return [...input].reverse().join('')
    },
  }),
  concat: filter([anything], {
    apply: (input, run, more) => [...listOf(input, run), ...listOf(more, run)],
  }),
  compact: filter([], {
    apply: (input, run) => {
      const list = listOf(input, run)
      run.budget.charge(list.length * prices.element)
      return list.filter(element => element !== null)
    },
  }),
}
