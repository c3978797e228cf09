import type { JsonObject } from '../domain/json.ts'
import type { PlannedBranch, SearchPlan } from '../domain/search/plan.ts'
import { accessField, type SearchBranch } from './search-query.ts'

/**
 * How a search was answered: fields and numbers, never a value. Estimates count every token of the tenant, and
 * the order follows from them; to a caller who may not see them all both would tell of the others, so he gets
 * the steps in the order of his query and no numbers.
 */
export const explainSearch = (
  plan: SearchPlan,
  branches: readonly SearchBranch[],
  { touchedRows, seesAll }: { touchedRows: number; seesAll: boolean },
): JsonObject => ({
  counted_by: plan.isExact ? 'index' : 'opening',
  ...(seesAll && { touched_rows: touchedRows }),
  branches: branches.map(({ planned, probes }) => ({
    steps: [
      ...(planned.ids ? [step('id', { estimated_rows: planned.ids.length })] : []),
      ...(seesAll
        ? probes.map(({ field, estimate }) => step(field, { estimated_rows: estimate }))
        : inOrderOfQuery(planned, probes)),
      ...checks(planned),
    ].map((entry, index) => ({ do: index === 0 ? 'start' : 'check', ...entry })),
  })),
})

const inOrderOfQuery = ({ terms }: PlannedBranch, probes: SearchBranch['probes']): JsonObject[] => [
  ...terms.map(({ field }) => step(field, {})),
  ...probes.filter(({ field }) => field === accessField).map(({ field }) => step(field, {})),
]

const step = (field: string, more: JsonObject): JsonObject => ({ field, ...more })

/** What needs no start: conditions on what another step proposes. */
const checks = (planned: PlannedBranch): JsonObject[] => {
  const { without, notInContainers, withoutIds, createdAt, notCreatedAt, columns, opened } = planned
  return [
    ...(Object.keys(createdAt).length > 0 ? [step('created_at', {})] : []),
    ...notCreatedAt.map(() => step('created_at', { negated: true })),
    ...withoutIds.map(() => step('id', { negated: true })),
    ...without.map(({ field }) => step(field, { negated: true })),
    ...notInContainers.map(({ field }) => step(field, { negated: true })),
    ...columns.map(({ field, negated }) => step(field, negated ? { negated } : {})),
    ...opened.map(field => step(field, { do: 'open' })),
  ]
}
