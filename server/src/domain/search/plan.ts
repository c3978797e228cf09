import { limits } from '../limits.ts'
import type { InstantRange } from '../time/instant.ts'
import { everyType, type Term, withoutOverlap } from '../tokens/index-terms.ts'
import { intersect, isEmpty } from './instant-range.ts'
import { type Condition, type Lookup, type Query, queryFault } from './query.ts'

/**
 * How storage is asked. The query's ORs are multiplied out into branches, one of which must hold; the conditions of a
 * branch must hold together. Storage decides what its indexes and columns can tell, and proposes tokens for the rest.
 */
export type SearchPlan = {
  readonly branches: readonly PlannedBranch[]
  /** True if what storage proposes is the answer; otherwise each proposed token must be opened and matched. */
  readonly isExact: boolean
}

/** Conditions that must hold together, in the order of the query. */
export type PlannedBranch = readonly PlannedCondition[]

export type PlannedCondition = {
  /** As the query names it, for the explanation of the plan. */
  readonly field: string
  readonly negated: boolean
  /**
   * How storage is asked. Absent where it would drop too much: a token that hides the field from the caller meets the
   * negation.
   */
  readonly lookup?: Lookup
  /** Only the opened token decides. */
  readonly isOpened: boolean
}

type Literal = {
  readonly condition: Omit<Condition, 'matches'>
  readonly negated: boolean
  readonly position: number
}

/** `mayRedact`: whether the caller may see some token under `redact`, which no index knows about (C26.7). */
export const planSearch = (query: Query, { mayRedact }: { mayRedact: boolean }): SearchPlan => {
  const branches = multiplyOut(query, false, mayRedact).map(literals => {
    requireLookup(literals)
    return planBranch(literals, mayRedact)
  })
  return {
    branches: branches.filter(canHold),
    isExact: branches.every(branch => !branch.some(({ isOpened }) => isOpened)),
  }
}

/** The query in disjunctive form; NOT moves inwards and swaps AND with OR on its way. */
const multiplyOut = (query: Query, negated: boolean, mayRedact: boolean): Literal[][] => {
  if (query.kind === 'term') return [[{ condition: query.condition, negated, position: query.position }]]
  if (query.kind === 'not') return multiplyOut(query.part, !negated, mayRedact)
  const isOr = (query.kind === 'or') !== negated
  let branches: Literal[][] = isOr ? [] : [[]]
  for (const part of query.parts) {
    const parted = multiplyOut(part, negated, mayRedact)
    const more = isOr ? parted : asOneOf(parted, mayRedact)
    const count = isOr ? branches.length + more.length : branches.length * more.length
    if (count > limits.searchBranches)
      throw queryFault(`expands to more than ${limits.searchBranches} alternatives`, part.position)
    branches = isOr
      ? [...branches, ...more]
      : branches.flatMap(branch => more.map(other => [...branch, ...other]))
  }
  return branches
}

/** Alternatives that the index can tell become one group of terms: six pairs of them are six groups instead of 64 branches. */
const asOneOf = (branches: Literal[][], mayRedact: boolean): Literal[][] => {
  const terms: Term[] = []
  const fields = new Set<string>()
  for (const [literal, ...others] of branches) {
    if (literal === undefined || literal.negated || others.length > 0) return branches
    const { field, lookup, hiddenUnderRedact } = literal.condition
    if (lookup.by !== 'term' || (hiddenUnderRedact === true && mayRedact)) return branches
    terms.push(...lookup.terms)
    fields.add(field)
  }
  const [[first] = []] = branches
  if (first === undefined || branches.length === 1) return branches
  const condition = {
    ...first.condition,
    field: [...fields].join(' or '),
    lookup: { by: 'term', terms: withoutOverlap(terms) } as const,
  }
  return [[{ ...first, condition }]]
}

/** The fields that an index can find tokens by. */
export const startingFields = 'id, type, data, fingerprint, container, metadata or created_at'

/** C26.8: a branch with no index to start from could only be answered by walking through all of the tenant's tokens. */
const requireLookup = (literals: readonly Literal[]): void => {
  const isIndexed = ({ condition: { lookup }, negated }: Literal): boolean =>
    !negated && lookup.by !== 'column'
  if (!literals.some(isIndexed))
    throw queryFault(
      `each alternative needs a term on ${startingFields} that is not negated`,
      Math.min(...literals.map(literal => literal.position)),
    )
}

const planBranch = (literals: readonly Literal[], mayRedact: boolean): PlannedBranch => {
  const branch = literals
    .filter(literal => !isAlwaysMet(literal))
    .map(({ condition: { field, lookup, hiddenUnderRedact }, negated }): PlannedCondition => {
      const isOpened = hiddenUnderRedact === true && mayRedact
      return { field, negated, isOpened, ...(!(isOpened && negated) && { lookup }) }
    })
  const hasStart = branch.some(
    ({ lookup, negated }) => !negated && lookup && startsByItself.includes(lookup.by),
  )
  return hasStart ? branch : [ofAnyType, ...branch]
}

const startsByItself: readonly Lookup['by'][] = ['id', 'term']

/** Index entries are ordered by time only within a term. Every token has a type, so the terms of all types cover every time. */
const ofAnyType: PlannedCondition = {
  field: 'type',
  negated: false,
  lookup: { by: 'term', terms: everyType },
  isOpened: false,
}

/**
 * `created_at:[* TO *]` excludes nothing, and as a condition it would prevent the count from coming from the kept counters. Nor
 * does `NOT` with an id that no token can have.
 */
const isAlwaysMet = ({ condition: { lookup }, negated }: Literal): boolean =>
  negated
    ? lookup.by === 'id' && !mayBeId(lookup.id)
    : lookup.by === 'createdAt' && lookup.range.from === undefined && lookup.range.until === undefined

/** Engines would take an id with a lone surrogate for another one. */
const mayBeId = (id: string): boolean => id.isWellFormed()

/** False for what no token can have: two ids, one that cannot be an id, or a creation time in ranges that do not overlap. */
const canHold = (branch: PlannedBranch): boolean => {
  const ids = new Set<string>()
  let createdAt: InstantRange = {}
  for (const { lookup, negated } of branch) {
    if (lookup === undefined || negated) continue
    if (lookup.by === 'id') ids.add(lookup.id)
    if (lookup.by === 'createdAt') createdAt = intersect(createdAt, lookup.range)
  }
  return ids.size <= 1 && [...ids].every(mayBeId) && !isEmpty(createdAt)
}
