import type { Allowance } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { budgetFor } from '../expressions/run.ts'
import { canonicalText } from '../json/canonical-json.ts'
import { isJsonObject, type Json, type JsonType } from '../json/json.ts'
import { fingerprintExpressionInForce, type Token } from './token.ts'

/** What the keyed hash of C14 is made of. */
export type RenderedFingerprint = { readonly type: JsonType; readonly canonical: string }

type Fingerprintable = Pick<Token, 'data' | 'metadata' | 'type' | 'fingerprintExpression'>

/**
 * The text to fingerprint, or undefined where the expression renders null, or the caller's own renders nothing.
 * Throws ExpressionError where it cannot be rendered for this data.
 */
export const renderFingerprint = (
  token: Fingerprintable,
  allowance?: Allowance,
): RenderedFingerprint | undefined => {
  const expression = compileExpression(fingerprintExpressionInForce(token), 'fingerprint')
  const data = token.data.expose('rendering what is fingerprinted, which leaves as a keyed hash')
  const scope = { data, metadata: token.metadata ?? {} }
  const { value, type } = expression.renderTyped(scope, budgetFor('fingerprint', scope, allowance))
  const isOwn = token.fingerprintExpression !== undefined
  if (value === null || (isOwn && isEmpty(value))) return undefined
  return { type, canonical: canonicalText(value) }
}

/** What many different data have in common: tokens that share nothing else must not be one under deduplication (C14). */
const isEmpty = (value: Json): boolean =>
  value === '' || ((Array.isArray(value) || isJsonObject(value)) && Object.keys(value).length === 0)
