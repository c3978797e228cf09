import { getOwn, isJsonObject, type Json } from '../json/json.ts'
import { type Dialect, prices, type Run, type Scope, type Use } from './budget.ts'
import { ExpressionError } from './expression-error.ts'
import type { Config, Operand, Segment } from './syntax.ts'

export type CompiledOperand = (run: Run) => Json

const dialects: readonly string[] = ['detokenize', 'proxy', 'transform'] satisfies Dialect[]

const variables = new Map<string, { read: (scope: Scope) => Json; isIn: (use: Use | Dialect) => boolean }>([
  ['data', { read: ({ data }) => data, isIn: use => !dialects.includes(use) }],
  ['metadata', { read: ({ metadata }) => metadata ?? {}, isIn: use => use === 'fingerprint' }],
])

export const compileOperand = (operand: Operand, use: Use | Dialect): CompiledOperand => {
  if (operand.kind === 'literal') return () => operand.value
  if (operand.kind === 'config') return compileConfig(operand, use)
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

const compileConfig = ({ key, position }: Config, use: Use | Dialect): CompiledOperand => {
  if (use !== 'transform') throw new ExpressionError("config: is only for a proxy's own transforms", position)
  return ({ scope }) => {
    const value = getOwn(scope.configuration ?? {}, key)
    if (value === undefined) throw new ExpressionError('there is no such key in the configuration', position)
    return value
  }
}

/** Whether the value has something at the end of the path, if only null. */
export const leadsSomewhere = (value: Json, path: readonly Segment[]): boolean => {
  const last = path.at(-1)
  if (last === undefined) return true
  const holder = readPath(value, path.slice(0, -1))
  if (!Array.isArray(holder)) return isJsonObject(holder) && getOwn(holder, String(last)) !== undefined
  const index = typeof last === 'number' ? last : indexOfName(last)
  return index !== undefined && holder.at(index) !== undefined
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
