import type { Issue } from '../errors.ts'
import { compileExpression, type Expression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import type { Use } from '../expressions/run.ts'
import type { TokenType } from './types/token-type.ts'

/** Compiles an expression that a caller wrote; a fault becomes an issue at its place. */
export const readExpression = (
  text: string,
  use: Use,
  type: TokenType,
  place: string,
  issues: Issue[],
): Expression | undefined => {
  try {
    const expression = compileExpression(text, use)
    if (namesTransientField(expression, type)) {
      issues.push({
        path: place,
        message: 'names a short-lived field, which expressions cannot use',
      })
      return undefined
    }
    return expression
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    issues.push({ path: place, message: error.message })
    return undefined
  }
}

/** C11: transient fields do not exist for expressions, at any depth: filters may have put `data` into a list on the way. */
const namesTransientField = ({ paths }: Expression, type: TokenType): boolean =>
  paths.some(([root, ...names]) => root === 'data' && names.some(name => Object.hasOwn(type.transient, name)))
