import type { Issue } from '../errors.ts'
import { type Budget, budgetFor, tooMuchWork } from '../expressions/budget.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import type { Json } from '../json/json.ts'
import { element, field } from '../place.ts'
import { disclosesCard } from './card-disclosure.ts'
import { maskLeaves } from './field-checks.ts'
import { renderFingerprint, renderIndexes } from './hash-inputs.ts'
import { renderMask } from './render-mask.ts'
import { searchIndexesInForce, type Token } from './token.ts'

/** The parts of a token that hold expressions. */
export type RenderedPart = 'mask' | 'search_indexes' | 'fingerprint_expression'
export const renderedParts: readonly RenderedPart[] = ['mask', 'search_indexes', 'fingerprint_expression']

/** One trial: a token's expressions and data, and the place in the caller's body of the part that is tried. */
type Trial = {
  readonly token: Pick<
    Token,
    'type' | 'data' | 'metadata' | 'mask' | 'searchIndexes' | 'fingerprintExpression'
  >
  readonly data: Json
  readonly path: string
  readonly issues: Issue[]
  readonly within: Budget | undefined
}

/**
 * Renders the expressions of the token once, so that one that cannot be rendered, or would show too much of a card, is
 * refused when it is written. Only for callers who know the data: to others the answer would tell something about it
 * (C13).
 */
export const checkRenderings = (
  token: Trial['token'],
  place: string,
  issues: Issue[],
  parts: readonly RenderedPart[],
  within?: Budget,
): void => {
  const data = token.data.expose('trying the expressions of a caller who knows the data')
  for (const part of renderedParts)
    if (parts.includes(part)) checks[part]({ token, data, path: field(place, part), issues, within })
}

const tryMask = ({ token: { type, mask }, data, path, issues, within }: Trial): void => {
  if (mask.from !== 'caller') return
  const { template } = mask
  const whole = budgetFor('mask', { data }, within)
  const fault = faultOf(() => renderMask(template, data, whole))
  if (fault !== undefined) issues.push(faultyLeaf(template, data, path, within) ?? { path, message: fault })
  if (whole.isSpent) return
  const budget = budgetFor('mask', { data }, within)
  const discloses = disclosesCard(template, type, data, budget)
  // A mask that renders differently because its budget ran out looks like one that shows the digit that was changed.
  if (budget.isSpent) issues.push({ path, message: tooMuchWork })
  else if (discloses) issues.push({ path, message: tooMuchOfACard })
}

/** The first leaf that does not render, or with which the work becomes too much. */
const faultyLeaf = (
  template: Json,
  data: Json,
  path: string,
  within: Budget | undefined,
): Issue | undefined => {
  const budget = budgetFor('mask', { data }, within)
  for (const leaf of maskLeaves(template, path)) {
    const fault = faultOf(() => renderMask(leaf.text, data, budget))
    if (fault !== undefined) return { path: leaf.path, message: fault }
  }
  return undefined
}

const tryIndexes = ({ token, data, path, issues, within }: Trial): void => {
  for (const [index, rendered] of renderIndexes(searchIndexesInForce(token), data, within).entries())
    if ('fault' in rendered) issues.push({ path: element(path, index), message: rendered.fault })
}

const tryFingerprint = ({ token, path, issues, within }: Trial): void => {
  if (token.fingerprintExpression === undefined) return
  const fault = faultOf(() => {
    if (renderFingerprint(token, within) === undefined)
      throw new ExpressionError('must not render null or something empty')
  })
  if (fault !== undefined) issues.push({ path, message: fault })
}

const checks: Readonly<Record<RenderedPart, (trial: Trial) => void>> = {
  mask: tryMask,
  search_indexes: tryIndexes,
  fingerprint_expression: tryFingerprint,
}

/** What is wrong with an expression on this data; undefined if it renders. */
const faultOf = (render: () => unknown): string | undefined => {
  try {
    render()
    return undefined
  } catch (error) {
    if (error instanceof ExpressionError) return error.message
    throw error
  }
}

export const tooMuchOfACard =
  'must not show more of a card number than its first 8 and last 4 digits, nor more than 8 of its digits in a row'
