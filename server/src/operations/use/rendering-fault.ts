import type { Issue } from '../../domain/errors.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { AbsentTokenError } from '../../domain/rendering/render.ts'

/** Why a request is not sent (U15). Nothing of what was sent is in it. */
export class RenderingFault extends Error {
  readonly code: 'expression_invalid' | 'token_not_found' | 'header_value_invalid'
  readonly issues: readonly Issue[]

  constructor(code: RenderingFault['code'], issues: readonly Issue[]) {
    super(code)
    this.name = 'RenderingFault'
    this.code = code
    this.issues = issues
  }
}

export const invalidExpression = (path: string, message: string): RenderingFault =>
  new RenderingFault('expression_invalid', [{ path, message }])

/** An error of an expression, at its place. Any other stays what it is. */
export const asFault = (error: unknown, path: string): unknown => {
  if (!(error instanceof ExpressionError)) return error
  const code = error instanceof AbsentTokenError ? 'token_not_found' : 'expression_invalid'
  return new RenderingFault(code, [{ path, message: error.message }])
}
