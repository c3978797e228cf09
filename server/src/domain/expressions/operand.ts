import type { Json } from '../json/json.ts'
import { ExpressionError } from './expression-error.ts'
import { readPath } from './path.ts'
import { prices } from './prices.ts'
import type { Run, Scope, Use } from './run.ts'
import type { Operand } from './syntax.ts'

export type CompiledOperand = (run: Run) => Json

const variables = new Map<string, { read: (scope: Scope) => Json; isIn: (use: Use) => boolean }>([
  ['data', { read: ({ data }) => data, isIn: () => true }],
  ['metadata', { read: ({ metadata }) => metadata ?? {}, isIn: use => use === 'fingerprint' }],
])

export const compileOperand = (operand: Operand, use: Use): CompiledOperand => {
  if (operand.kind === 'literal') return () => operand.value
  const { root, segments, position } = operand
  const variable = variables.get(root)
  // The message does not name it: a caller who forgot the quotes around a text has written a value here (C2).
  if (!variable?.isIn(use)) throw new ExpressionError('unknown variable', position)
  const steps = segments.length * prices.pathSegment
  return ({ scope, budget }) => {
    budget.charge(steps)
    return readPath(variable.read(scope), segments)
  }
}
