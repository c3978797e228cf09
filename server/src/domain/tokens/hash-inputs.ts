import { type Budget, budgetFor, prices, unlimited } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { renderedText } from '../expressions/values.ts'
import { canonicalText } from '../json/canonical-text.ts'
import { isJsonObject, type Json, type JsonType } from '../json/json.ts'
import { isAscii } from '../text/characters.ts'
import { fingerprintExpressionInForce, type Token } from './token.ts'

// What keyed hashes are made of: the rendered fingerprint and search indexes of a token.

/** The input of a fingerprint's keyed hash (C14). */
export type RenderedFingerprint = { readonly type: JsonType; readonly canonical: string }

type Fingerprintable = Pick<Token, 'data' | 'metadata' | 'type' | 'fingerprintExpression'>

/**
 * The text to fingerprint, or undefined if the expression renders null, or if it is the caller's own and renders
 * something empty. Throws ExpressionError if it cannot be rendered for this data.
 */
export const renderFingerprint = (
  token: Fingerprintable,
  within?: Budget,
): RenderedFingerprint | undefined => {
  const expression = compileExpression(fingerprintExpressionInForce(token), 'fingerprint')
  const data = token.data.expose('rendering what is fingerprinted, which leaves as a keyed hash')
  const scope = { data, metadata: token.metadata ?? {} }
  const isOwn = token.fingerprintExpression !== undefined
  // The type's own expression has no limit: it reads the data once, and an operator may allow data of any length.
  const { value, type } = expression.renderTyped(
    scope,
    fingerprintExpressionInForce(token) === token.type.fingerprint
      ? unlimited
      : budgetFor('fingerprint', scope, within),
  )
  if (value === null || (isOwn && isEmpty(value))) return undefined
  return { type, canonical: canonicalText(value) }
}

/** Many different values render empty: tokens that have nothing else in common must not be deduplicated into one (C14). */
const isEmpty = (value: Json): boolean =>
  value === '' || ((Array.isArray(value) || isJsonObject(value)) && Object.keys(value).length === 0)

/** The value by which a search index finds the token, or why there is none. */
type RenderedIndex = { readonly value: string } | { readonly fault: string }

/** The price of folding a character beyond ASCII; combining marks take the longest. */
const stepsPerFoldedCharacter = 120

const payToFold = (value: string, budget: Budget): void =>
  budget.charge(value.length * (isAscii(value) ? 2 * prices.copiedCharacter : stepsPerFoldedCharacter))

/** The search indexes of a token, in their order, on one budget. */
export const renderIndexes = (
  expressions: readonly string[],
  data: Json,
  within?: Budget,
): RenderedIndex[] => {
  const budget = budgetFor('index', { data }, within)
  return expressions.map(text => {
    try {
      const value = renderedText(compileExpression(text, 'index').render({ data }, undefined, budget))
      payToFold(value, budget)
      return { value }
    } catch (error) {
      if (error instanceof ExpressionError) return { fault: error.message }
      throw error
    }
  })
}
