import { intersect } from '../../domain/search/instant-range.ts'
import type { PlannedBranch, PlannedCondition } from '../../domain/search/plan.ts'
import type { Term } from '../../domain/tokens/index-terms.ts'
import type { TokenBranch } from '../../store/port.ts'
import { hashGroup } from '../tokens/hash-terms.ts'
import type { UnlockedTenant } from '../vault/vault.ts'
import { byRarity, type EstimateOf } from './estimate-terms.ts'

/** One condition of a branch: how the query names it, and what it asks of storage. */
export type Step = {
  readonly field: string
  readonly asks: Partial<TokenBranch>
  /** How many tokens meet it, or at least that many if the probe hit its limit. Set only if a search can start from it. */
  readonly estimate?: number
  readonly negated?: true
  /** Only the opened token decides. Storage is asked for nothing. */
  readonly isOpened?: true
}

/** Terms of which a token must have one, and the field that asks for them. */
export type TermGroup = { readonly field: string; readonly terms: readonly Term[] }

/** What a branch asks the index for. */
export const termGroups = (branch: PlannedBranch): TermGroup[] =>
  branch.flatMap(({ field, lookup, negated }) =>
    !negated && lookup?.by === 'term' ? [{ field, terms: lookup.terms }] : [],
  )

/** The order of steps in an explanation: what a search starts from, then what the index checks, then what is opened. */
const ranks = ['ids', 'groups', 'createdAt', 'notCreatedAt', 'withoutIds', 'without', 'columns'] as const

/** The only translation of a branch for storage. A search asks for all steps together; an explanation lists them one by one. */
export const stepsOf = (
  tenant: UnlockedTenant,
  branch: PlannedBranch,
  access: readonly TermGroup[],
  estimateOf: EstimateOf,
): Step[] => {
  const group = ({ field, terms }: TermGroup): Step => ({
    field,
    asks: { groups: [hashGroup(tenant, terms)] },
    estimate: estimateOf(terms),
  })
  const asked = branch.flatMap(condition => stepOf(tenant, condition, group))
  const steps = [...asked, ...access.map(group)].sort((a, b) => rankOf(a) - rankOf(b))
  const opened = branch.filter(({ isOpened }) => isOpened)
  return [...steps, ...opened.map(({ field }): Step => ({ field, asks: {}, isOpened: true }))]
}

const stepOf = (
  tenant: UnlockedTenant,
  { field, lookup, negated }: PlannedCondition,
  group: (terms: TermGroup) => Step,
): Step[] => {
  const not = (asks: Step['asks']): Step[] => [{ field, asks, negated: true }]
  switch (lookup?.by) {
    case undefined:
      return []
    case 'id':
      return negated ? not({ withoutIds: [lookup.id] }) : [{ field, asks: { ids: [lookup.id] }, estimate: 1 }]
    case 'term':
      return negated
        ? not({ without: hashGroup(tenant, lookup.terms) })
        : [group({ field, terms: lookup.terms })]
    case 'createdAt':
      return negated ? not({ notCreatedAt: [lookup.range] }) : [{ field, asks: { createdAt: lookup.range } }]
    case 'column': {
      const asks = { columns: [{ ...lookup.condition, negated }] }
      return negated ? not(asks) : [{ field, asks }]
    }
  }
}

const rankOf = ({ asks }: Step): number => ranks.findIndex(rank => asks[rank] !== undefined)

/** What all of the steps ask for. */
export const mergeSteps = (steps: readonly Step[]): TokenBranch => {
  const all = <K extends 'groups' | 'without' | 'withoutIds' | 'notCreatedAt' | 'columns'>(part: K) =>
    steps.flatMap(({ asks }) => (asks[part] ?? []) as NonNullable<TokenBranch[K]>[number][])
  const ids = steps.find(({ asks }) => asks.ids !== undefined)?.asks.ids
  const spans = steps.flatMap(({ asks }) => asks.createdAt ?? [])
  return {
    groups: all('groups'),
    without: all('without'),
    withoutIds: all('withoutIds'),
    notCreatedAt: all('notCreatedAt'),
    columns: all('columns'),
    ...(spans.length > 0 && { createdAt: spans.reduce(intersect) }),
    ...(ids && { ids }),
  }
}

export const rarestFirst = (steps: readonly Step[]): Step[] => {
  const starts = steps.filter(({ asks }) => asks.groups !== undefined)
  const sorted = starts.toSorted((a, b) => byRarity(rarityOf(a), rarityOf(b)))
  const first = steps.findIndex(({ asks }) => asks.groups !== undefined)
  return first === -1 ? [...steps] : steps.toSpliced(first, starts.length, ...sorted)
}

const rarityOf = ({ asks: { groups: [terms = []] = [] }, estimate = 0 }: Step) => ({ terms, estimate })
