import type { Term } from '../index-terms.ts'
import { limits } from '../limits.ts'
import { type InstantRange, intersect, isEmpty } from './instant-range.ts'
import type { Condition, Query } from './query.ts'
import { queryFault } from './query-fault.ts'

/**
 * How storage is asked. A query becomes branches, one of which must hold (its ORs multiplied out); a branch is
 * what must hold together. Storage decides by its indexes as much as they can tell and proposes the rest.
 */
export type SearchPlan = {
  readonly branches: readonly PlannedBranch[]
  /** What storage proposes is the answer; otherwise each proposed token must be opened and matched. */
  readonly isExact: boolean
}

export type PlannedBranch = {
  /** The token has all of these … */
  readonly terms: readonly FieldTerms[]
  /** … and none of these. */
  readonly without: readonly FieldTerms[]
  /** The token is one of these; absent: any. */
  readonly ids?: readonly string[]
  readonly withoutIds: readonly string[]
  readonly createdAt: InstantRange
  readonly notCreatedAt: readonly InstantRange[]
  /** Fields of conditions that only the opened token decides. */
  readonly opened: readonly string[]
}

/** One of these terms; the field as the query names it, for the explanation of the plan. */
export type FieldTerms = { readonly field: string; readonly terms: readonly Term[] }

type Literal = { readonly condition: Condition; readonly negated: boolean; readonly position: number }

/** `mayRedact`: whether the caller sees any token under `redact`, which no index knows (C26.7). */
export const planSearch = (query: Query, { mayRedact }: { mayRedact: boolean }): SearchPlan => {
  const branches = multiplyOut(query, false).map(literals => {
    requireLookup(literals)
    return planBranch(literals, mayRedact)
  })
  return {
    branches: branches.filter(canHold),
    isExact: branches.every(branch => branch.opened.length === 0),
  }
}

/** The query in disjunctive form; NOT moves inwards and swaps AND with OR on its way. */
const multiplyOut = (query: Query, negated: boolean): Literal[][] => {
  if (query.kind === 'term') return [[{ condition: query.condition, negated, position: query.position }]]
  if (query.kind === 'not') return multiplyOut(query.part, !negated)
  const isOr = (query.kind === 'or') !== negated
  let branches: Literal[][] = isOr ? [] : [[]]
  for (const part of query.parts) {
    const more = multiplyOut(part, negated)
    const count = isOr ? branches.length + more.length : branches.length * more.length
    if (count > limits.searchBranches)
      throw queryFault(`a query must come to at most ${limits.searchBranches} branches`, part.position)
    branches = isOr
      ? [...branches, ...more]
      : branches.flatMap(branch => more.map(other => [...branch, ...other]))
  }
  return branches
}

/** C26.8: a branch without a place to start from could only be answered by walking the tenant. */
const requireLookup = (literals: readonly Literal[]): void => {
  const canStart = ({ condition: { lookup }, negated }: Literal): boolean =>
    !negated && (lookup?.by === 'id' || lookup?.by === 'term')
  if (!literals.some(canStart))
    throw queryFault(
      'each alternative needs an id, type, data, fingerprint, container or metadata term that is not negated',
      Math.min(...literals.map(literal => literal.position)),
    )
}

const planBranch = (literals: readonly Literal[], mayRedact: boolean): PlannedBranch => {
  const terms: FieldTerms[] = []
  const without: FieldTerms[] = []
  const withoutIds: string[] = []
  const notCreatedAt: InstantRange[] = []
  const opened: string[] = []
  let ids: readonly string[] | undefined
  let createdAt: InstantRange = {}
  for (const { condition, negated } of literals) {
    const { field, lookup } = condition
    const isUncertain = condition.onlyProposed === true || (condition.hiddenUnderRedact === true && mayRedact)
    if (lookup === undefined || isUncertain) opened.push(field)
    // What may be hidden from the caller, or is more than was meant, must not rule a token out.
    if (lookup === undefined || (isUncertain && negated)) continue
    if (lookup.by === 'term') (negated ? without : terms).push({ field, terms: lookup.terms })
    else if (lookup.by === 'createdAt' && negated) notCreatedAt.push(lookup.range)
    else if (lookup.by === 'createdAt') createdAt = intersect(createdAt, lookup.range)
    else if (negated) withoutIds.push(lookup.id)
    else ids = (ids ?? [lookup.id]).filter(id => id === lookup.id)
  }
  return { terms, without, withoutIds, createdAt, notCreatedAt, opened, ...(ids && { ids }) }
}

const canHold = ({ ids, createdAt }: PlannedBranch): boolean => ids?.length !== 0 && !isEmpty(createdAt)
