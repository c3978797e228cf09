import type { Term } from '../index-terms.ts'
import type { InstantRange } from '../instant.ts'
import { limits } from '../limits.ts'
import { intersect, isEmpty } from './instant-range.ts'
import type { ColumnLookup, Condition, Lookup, Query } from './query.ts'
import { queryFault } from './query-fault.ts'

/**
 * How storage is asked. A query becomes branches, one of which must hold (its ORs multiplied out); a branch is
 * what must hold together. Storage decides what its indexes and columns can tell, and proposes tokens for the rest.
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
  /** Containers that the token lies in itself, and that it does not; the former are among `terms` too. */
  readonly inContainers: readonly Term[]
  readonly notInContainers: readonly Term[]
  /** The token is one of these; absent: any. */
  readonly ids?: readonly string[]
  readonly withoutIds: readonly string[]
  readonly createdAt: InstantRange
  readonly notCreatedAt: readonly InstantRange[]
  readonly columns: readonly PlannedColumn[]
  /** Fields of conditions that only the opened token decides. */
  readonly opened: readonly string[]
}

export type PlannedColumn = ColumnLookup & { readonly field: string; readonly negated: boolean }

/** One of these terms; the field as the query names it, for the explanation of the plan. */
export type FieldTerms = { readonly field: string; readonly terms: readonly Term[] }

type Literal = { readonly condition: Condition; readonly negated: boolean; readonly position: number }

/** `mayRedact`: whether the caller sees any token under `redact`, which no index knows (C26.7). */
export const planSearch = (query: Query, { mayRedact }: { mayRedact: boolean }): SearchPlan => {
  const branches = multiplyOut(query, false, mayRedact).map(literals => {
    requireLookup(literals)
    return planBranch(literals, mayRedact)
  })
  return {
    branches: branches.filter(canHold),
    isExact: branches.every(branch => branch.opened.length === 0),
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
      throw queryFault(`a query must come to at most ${limits.searchBranches} branches`, part.position)
    branches = isOr
      ? [...branches, ...more]
      : branches.flatMap(branch => more.map(other => [...branch, ...other]))
  }
  return branches
}

/** Alternatives that the index can tell are one group of terms: six pairs of them are six groups, and not 64 branches. */
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
    lookup: { by: 'term', terms } as const,
  }
  return [[{ ...first, condition }]]
}

/** C26.8: a branch that has no index to start from could only be answered by walking the tenant. */
const requireLookup = (literals: readonly Literal[]): void => {
  const starts: readonly Lookup['by'][] = ['id', 'term', 'container']
  const canStart = ({ condition: { lookup }, negated }: Literal): boolean =>
    !negated && starts.includes(lookup.by)
  if (!literals.some(canStart))
    throw queryFault(
      'each alternative needs an id, type, data, fingerprint, container or metadata term that is not negated',
      Math.min(...literals.map(literal => literal.position)),
    )
}

const planBranch = (literals: readonly Literal[], mayRedact: boolean): PlannedBranch => {
  const terms: FieldTerms[] = []
  const without: FieldTerms[] = []
  const inContainers: Term[] = []
  const notInContainers: Term[] = []
  const withoutIds: string[] = []
  const notCreatedAt: InstantRange[] = []
  const columns: PlannedColumn[] = []
  const opened: string[] = []
  let ids: readonly string[] | undefined
  let createdAt: InstantRange = {}
  for (const { condition, negated } of literals) {
    const { field, lookup } = condition
    const mayBeHidden = condition.hiddenUnderRedact === true && mayRedact
    if (mayBeHidden) opened.push(field)
    // A token that hides the field meets the negation, so storage must not rule it out.
    if (mayBeHidden && negated) continue
    switch (lookup.by) {
      case 'id':
        if (negated) withoutIds.push(lookup.id)
        // No token has an id with half a character, which engines would take for another one.
        else ids = (ids ?? [lookup.id]).filter(id => id === lookup.id && id.isWellFormed())
        break
      case 'term':
        ;(negated ? without : terms).push({ field, terms: lookup.terms })
        break
      case 'container':
        ;(negated ? notInContainers : inContainers).push(lookup.term)
        if (!negated) terms.push({ field, terms: [lookup.term] })
        break
      case 'createdAt':
        if (negated) notCreatedAt.push(lookup.range)
        else createdAt = intersect(createdAt, lookup.range)
        break
      case 'column':
        columns.push({ ...lookup.condition, field, negated })
        break
    }
  }
  return {
    terms,
    without,
    inContainers,
    notInContainers,
    withoutIds,
    createdAt,
    notCreatedAt,
    columns,
    opened,
    ...(ids && { ids }),
  }
}

const canHold = ({ ids, createdAt }: PlannedBranch): boolean => ids?.length !== 0 && !isEmpty(createdAt)
