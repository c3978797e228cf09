import { type Budget, budgetFor } from '../expressions/budget.ts'
import { compileExpression, type Expression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import type { Json } from '../json/json.ts'
import { maskLeaves } from './field-checks.ts'
import { renderMaskOrNothing } from './render-mask.ts'
import type { CardNumber, TokenType } from './types/token-type.ts'

/** C13: what a mask may show of a card number: its first eight and last four digits, never nine in a row. */
const firstDigits = 8
const lastDigits = 4
const consecutiveDigits = 8

/** A card-like number that belongs to nobody, to judge a mask without reading the data. */
const probe = '4000001234567899'

/**
 * Whether the mask renders too much of the number that this token holds. Also true if no number is found in the data, and if judging
 * it takes more than the budget has.
 */
export const disclosesCard = (
  template: Json,
  type: TokenType,
  data: Json,
  budget = budgetFor('mask', { data }),
): boolean => {
  const card = type.cardNumber
  if (card === undefined) return false
  const number = card.read(data)
  // A mask that cannot be judged counts as disclosing.
  if (number === undefined) return true
  try {
    if (holdsRun(renderMaskOrNothing(template, data, budget), number, budget)) return true
    const isShown = digitTrials(leavesThatRead(card, template), { card, number, data, budget })
    return showsMiddle(number, isShown) || isShownWhole(number, isShown) || budget.isSpent
  } catch (error) {
    if (error instanceof ExpressionError) return true
    throw error
  }
}

/** The expressions of a mask that can render a part of the card number. All others render the same for any number. */
const leavesThatRead = (card: CardNumber, template: Json): Expression[] => {
  const texts = new Set(maskLeaves(template, '').map(({ text }) => text))
  return [...texts]
    .map(text => compileExpression(text, 'mask'))
    .filter(({ paths }) =>
      paths.some(([, ...names]) =>
        names.every((name, depth) => depth >= card.path.length || name === card.path[depth]),
      ),
    )
}

type Tried = {
  readonly card: CardNumber
  readonly number: string
  readonly data: Json
  readonly budget: Budget
}

/**
 * A digit is shown if changing it changes the rendered mask. This finds what a check of the mask's text could not: digits taken one by
 * one, reordered, or used in arithmetic.
 */
const digitTrials = (leaves: readonly Expression[], { card, number, data, budget }: Tried) => {
  const rendered = (leaf: Expression, other: Json): string | undefined => {
    try {
      // Each rendering has its own limit of output, but all share one limit of work.
      return JSON.stringify(
        leaf.render({ data: other }, undefined, budgetFor('mask', { data: other }, budget)),
      )
    } catch (error) {
      if (error instanceof ExpressionError) return undefined
      throw error
    }
  }
  const texts = leaves.map(leaf => rendered(leaf, data))
  return (at: number): boolean =>
    leaves.length > 0 &&
    othersAt(number, at).some(other => {
      const changed = card.replace(data, other)
      return leaves.some((leaf, index) => rendered(leaf, changed) !== texts[index])
    })
}

/** Asks the same about a stand-in number, so that the answer cannot depend on the token's own number. */
export const disclosesProbe = (template: Json, type: TokenType, budget?: Budget): boolean =>
  type.cardNumber !== undefined && disclosesCard(template, type, type.cardNumber.example(probe), budget)

/** The price of splitting a text into groups of digits and looking for each window of the number in them. */
const stepsPerCharacter = 150

/** More than eight consecutive digits of the number in one leaf or key, grouped or not. */
const holdsRun = (rendered: Json | undefined, number: string, budget: Budget): boolean => {
  const windows = new Set<string>()
  for (let at = 0; at + consecutiveDigits < number.length; at++)
    windows.add(number.slice(at, at + consecutiveDigits + 1))
  return leafTexts(rendered).some(text => {
    budget.charge(text.length * stepsPerCharacter)
    for (const run of runsOf(text)) {
      if (isBothEnds(run, number)) continue
      const digits = run.join('')
      for (const window of windows) if (digits.includes(window)) return true
    }
    return false
  })
}

/**
 * The groups of digits that stay consecutive across one separator, as people group them. A filled gap ends a run: in
 * `42424242XXXX4242` the first eight and the last four digits would otherwise read as nine in a row.
 */
const runsOf = (text: string): string[][] =>
  text.split(/[^\d\s./:;,|()_-]|\D{2,}/).map(run => run.split(/\D/).filter(digits => digits !== ''))

/**
 * `424242-4242` of `4242424242424242` shows only both ends, which is allowed, though these digits also stand in a row
 * in the number.
 */
const isBothEnds = ([first = '', last = '', ...more]: readonly string[], number: string): boolean =>
  more.length === 0 &&
  number.length > firstDigits + lastDigits &&
  first.length <= firstDigits &&
  last.length <= lastDigits &&
  number.startsWith(first) &&
  number.endsWith(last)

/** The number with each of the nine other digits in this place. */
const othersAt = (number: string, at: number): string[] =>
  [...'0123456789']
    .filter(digit => digit !== number[at])
    .map(digit => number.slice(0, at) + digit + number.slice(at + 1))

const showsMiddle = (number: string, isShown: (at: number) => boolean): boolean => {
  for (let at = firstDigits; at < number.length - lastDigits; at++) if (isShown(at)) return true
  return false
}

/** A number of twelve digits has no middle: its first eight and last four digits are all of it, side by side. */
const isShownWhole = (number: string, isShown: (at: number) => boolean): boolean => {
  if (number.length > firstDigits + lastDigits) return false
  let neighbours = 0
  for (let at = 0; at < number.length; at++) {
    neighbours = isShown(at) ? neighbours + 1 : 0
    if (neighbours > consecutiveDigits) return true
  }
  return false
}

/** Includes keys, because a mask shows them, too. */
const leafTexts = (value: Json | undefined): string[] => {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap(leafTexts)
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([key, item]) => [key, ...leafTexts(item)])
  return [String(value)]
}
