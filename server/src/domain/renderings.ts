import { disclosesCard } from './card-disclosure.ts'
import type { Issue } from './errors.ts'
import { Allowance } from './expressions/budget.ts'
import { compileExpression } from './expressions/expression.ts'
import { ExpressionError } from './expressions/expression-error.ts'
import { budgetFor } from './expressions/run.ts'
import { renderFingerprint } from './fingerprint.ts'
import type { Json } from './json.ts'
import { maskLeaves, renderMask } from './mask.ts'
import { element, field } from './place.ts'
import { searchIndexesInForce, type Token } from './token.ts'

/** The parts of a token that hold expressions. */
export type RenderedPart = 'mask' | 'search_indexes' | 'fingerprint_expression'
export const renderedParts: readonly RenderedPart[] = ['mask', 'search_indexes', 'fingerprint_expression']

/**
 * Renders the expressions of the token once, so that what cannot be rendered, or would show too much of a
 * card, is refused when it is written. Only for callers who know the data: to others the answer would tell
 * something about it (C13).
 */
export const checkRenderings = (
  token: Pick<Token, 'type' | 'data' | 'metadata' | 'mask' | 'searchIndexes' | 'fingerprintExpression'>,
  place: string,
  issues: Issue[],
  parts: readonly RenderedPart[],
  allowance = new Allowance(),
): void => {
  const data = token.data.expose('trying the expressions of a caller who knows the data')
  const attempt = (path: string, render: () => unknown): unknown => {
    try {
      return render()
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      issues.push({ path, message: error.message })
      return undefined
    }
  }
  const renders = (template: Json): boolean => {
    try {
      renderMask(template, data, allowance)
      return true
    } catch (error) {
      if (error instanceof ExpressionError) return false
      throw error
    }
  }
  if (parts.includes('mask') && token.mask.from === 'caller') {
    const { template } = token.mask
    const path = field(place, 'mask')
    const faults = issues.length
    if (!renders(template)) {
      const leaf = maskLeaves(template, path).find(({ text }) => !renders(text))
      attempt(leaf?.path ?? path, () => renderMask(leaf?.text ?? template, data, allowance))
    }
    if (disclosesCard(template, token.type, data, allowance)) issues.push({ path, message: tooMuchOfACard })
    else if (allowance.isSpent && issues.length === faults) issues.push({ path, message: 'too much work' })
  }
  if (parts.includes('search_indexes'))
    searchIndexesInForce(token).forEach((text, index) => {
      const path = element(field(place, 'search_indexes'), index)
      attempt(path, () =>
        compileExpression(text, 'index').render({ data }, undefined, budgetFor({ data }, allowance)),
      )
    })
  if (parts.includes('fingerprint_expression') && token.fingerprintExpression !== undefined) {
    const path = field(place, 'fingerprint_expression')
    const faults = issues.length
    const rendered = attempt(path, () => renderFingerprint(token, allowance))
    if (rendered === undefined && issues.length === faults)
      issues.push({ path, message: 'must not render null or an empty text' })
  }
}

export const tooMuchOfACard = 'must not render more of a card number than its first 8 and last 4 digits'
