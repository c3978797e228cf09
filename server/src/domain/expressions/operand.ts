import { getOwn, isJsonObject, type Json } from '../json/json.ts'
import { prices, type Run, type Scope, type Use } from './budget.ts'
import { ExpressionError } from './expression-error.ts'
import type { Operand, Segment } from './syntax.ts'

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

/** The value at the end of the path; null where the path leads nowhere (C20). */
export const readPath = (value: Json, path: readonly Segment[]): Json => {
  let current = value
  for (const segment of path) current = readSegment(current, segment)
  return current
}

/**
 * Own properties only: `constructor`, `size` or `first` mean what the data has under that name and nothing else. Text
 * and numbers have no properties. `items.0` is `items[0]`, as in Liquid.
 */
const readSegment = (value: Json, segment: Segment): Json => {
  if (Array.isArray(value)) {
    const index = typeof segment === 'number' ? segment : indexOfName(segment)
    return (index === undefined ? undefined : value.at(index)) ?? null
  }
  return (isJsonObject(value) ? getOwn(value, String(segment)) : undefined) ?? null
}

const indexOfName = (name: string): number | undefined => {
  const index = Number(name)
  return Number.isSafeInteger(index) && index >= 0 && String(index) === name ? index : undefined
}
