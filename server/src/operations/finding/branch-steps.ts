import type { Term } from '../../domain/index-terms.ts'
import type { PlannedBranch } from '../../domain/search/plan.ts'
import type { TokenBranch } from '../../store/port.ts'
import { hashTerm } from '../tokens/index-entries.ts'
import type { Caller } from '../vault.ts'

/** One look at the index: a token must have one of the terms. */
export type Look = {
  readonly field: string
  readonly terms: readonly Buffer[]
  /** Those that it must have without a tag. */
  readonly untagged: readonly Buffer[]
  /** How many tokens have them; where it reaches the limit of a probe, that many or more. */
  readonly estimate?: number
}

/** One condition of a branch, as the query names it and as storage is asked for it. */
export type Step = {
  readonly field: string
  readonly asks: Partial<TokenBranch>
  readonly estimate?: number
  readonly isNegated?: true
  /** Only the opened token decides: storage is asked for nothing. */
  readonly isOpened?: true
}

/**
 * The one translation of a branch for storage: what a search asks for is all steps together, and what an explanation
 * tells of are the same steps one by one.
 */
export const stepsOf = (caller: Caller, planned: PlannedBranch, looks: readonly Look[]): Step[] => {
  const { ids, createdAt, notCreatedAt, withoutIds, without, notInContainers, columns, opened } = planned
  const hashes = (terms: readonly Term[]): Buffer[] => terms.map(term => hashTerm(caller, term))
  const steps: Step[] = []
  if (ids) steps.push({ field: 'id', asks: { ids }, estimate: ids.length })
  for (const { terms, untagged, ...look } of looks)
    steps.push({ ...look, asks: { groups: [terms], untagged } })
  // No search starts from these: they check what another step proposes.
  if (Object.keys(createdAt).length > 0) steps.push({ field: 'created_at', asks: { createdAt } })
  for (const span of notCreatedAt)
    steps.push({ field: 'created_at', asks: { notCreatedAt: [span] }, isNegated: true })
  for (const id of withoutIds) steps.push({ field: 'id', asks: { withoutIds: [id] }, isNegated: true })
  for (const { field, terms } of without)
    steps.push({ field, asks: { without: hashes(terms) }, isNegated: true })
  for (const term of notInContainers)
    steps.push({ field: term.field, asks: { withoutUntagged: hashes([term]) }, isNegated: true })
  for (const column of columns)
    steps.push({
      field: column.field,
      asks: { columns: [column] },
      ...(column.negated && { isNegated: true }),
    })
  for (const field of opened) steps.push({ field, asks: {}, isOpened: true })
  return steps
}

/** What all of the steps ask for. */
export const together = (steps: readonly Step[]): TokenBranch => {
  const ids = steps.find(({ asks }) => asks.ids !== undefined)?.asks.ids
  const createdAt = steps.find(({ asks }) => asks.createdAt !== undefined)?.asks.createdAt
  return {
    groups: steps.flatMap(({ asks }) => asks.groups ?? []),
    without: steps.flatMap(({ asks }) => asks.without ?? []),
    untagged: steps.flatMap(({ asks }) => asks.untagged ?? []),
    withoutUntagged: steps.flatMap(({ asks }) => asks.withoutUntagged ?? []),
    withoutIds: steps.flatMap(({ asks }) => asks.withoutIds ?? []),
    notCreatedAt: steps.flatMap(({ asks }) => asks.notCreatedAt ?? []),
    columns: steps.flatMap(({ asks }) => asks.columns ?? []),
    ...(createdAt && { createdAt }),
    ...(ids && { ids }),
  }
}
