import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import { Budget } from './budget.ts'
import { sizeOf } from './size.ts'

/** What an expression is for. Masks hide short values whole, fingerprints see metadata, ids may use aliases. */
export type Use = 'mask' | 'fingerprint' | 'index' | 'id'

export type Scope = { data: Json; metadata?: Readonly<Record<string, string>> }

/** Uniform integer in [0, below). Only alias filters call it. */
export type RandomBelow = (below: number) => number

/** One rendering: what it reads, what it is for, and what it may still spend. */
export type Run = {
  readonly scope: Scope
  readonly use: Use
  readonly budget: Budget
  readonly random: RandomBelow | undefined
}

const baseSteps: Readonly<Record<Use, number>> = {
  mask: limits.expressionSteps,
  id: limits.expressionSteps,
  index: limits.hashedExpressionSteps,
  fingerprint: limits.hashedExpressionSteps,
}

/** What a whole mask, all indexes of a token, a fingerprint or an id may spend on this scope. */
export const budgetFor = (use: Use, { data, metadata }: Scope, within?: Budget): Budget =>
  new Budget(baseSteps[use], () => sizeOf(data) + sizeOf(metadata ?? null), within)
