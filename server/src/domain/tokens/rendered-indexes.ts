import type { Budget } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { prices } from '../expressions/prices.ts'
import { renderedText } from '../expressions/rendered-text.ts'
import { budgetFor } from '../expressions/run.ts'
import type { Json } from '../json/json.ts'
import { isAscii } from '../text/characters.ts'

/** What a search index finds the token by, or why there is nothing. */
type RenderedIndex = { readonly value: string } | { readonly fault: string }

/** A character that is folded beyond ASCII: combining marks take the longest. */
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
