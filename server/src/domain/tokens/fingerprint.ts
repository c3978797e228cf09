import { type Budget, unlimited } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { budgetFor } from '../expressions/run.ts'
import { canonicalText } from '../json/canonical-json.ts'
import { isJsonObject, type Json, type JsonType } from '../json/json.ts'
import { fingerprintExpressionInForce, type Token } from './token.ts'

/** What the keyed hash of C14 is made of. */
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
  // That of the type reads the data once, however long an operator lets that be, and whatever it consists of.
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
