import { canonicalText } from './canonical-json.ts'
import type { Allowance } from './expressions/budget.ts'
import { compileExpression } from './expressions/expression.ts'
import { budgetFor } from './expressions/run.ts'
import type { JsonType } from './json.ts'
import { fingerprintExpressionInForce, type Token } from './token.ts'

/** What the keyed hash of C14 is made of. */
export type RenderedFingerprint = { readonly type: JsonType; readonly canonical: string }

type Fingerprintable = Pick<Token, 'data' | 'metadata' | 'type' | 'fingerprintExpression'>

/**
 * The text to fingerprint, or undefined where the expression renders null or nothing.
 * Throws ExpressionError where it cannot be rendered for this data.
 */
export const renderFingerprint = (
  token: Fingerprintable,
  allowance?: Allowance,
): RenderedFingerprint | undefined => {
  const expression = compileExpression(fingerprintExpressionInForce(token), 'fingerprint')
  const data = token.data.expose('rendering what is fingerprinted, which leaves as a keyed hash')
  const scope = { data, metadata: token.metadata ?? {} }
  const { value, type } = expression.renderTyped(scope, budgetFor(scope, allowance))
  const isOwn = token.fingerprintExpression !== undefined
  if (value === null || (isOwn && value === '')) return undefined
  return { type, canonical: canonicalText(value) }
}
