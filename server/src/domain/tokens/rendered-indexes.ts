import { Allowance } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { renderedText } from '../expressions/rendered-text.ts'
import { budgetFor } from '../expressions/run.ts'
import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'

/** What a search index finds the token by, or why there is nothing. */
type RenderedIndex = { readonly value: string } | { readonly fault: string }

/**
 * The search indexes of a token, in their order. They share an allowance of their own, whatever else is rendered: when the token
 * changes or goes, rendering them once more must lead to the same entries.
 */
export const renderIndexes = (
  expressions: readonly string[],
  data: Json,
  allowance?: Allowance,
): RenderedIndex[] => {
  const own = new Allowance(limits.hashedExpressionStepsPerToken, allowance)
  return expressions.map(text => {
    try {
      const budget = budgetFor('index', { data }, own)
      return { value: renderedText(compileExpression(text, 'index').render({ data }, undefined, budget)) }
    } catch (error) {
      if (error instanceof ExpressionError) return { fault: error.message }
      throw error
    }
  })
}
