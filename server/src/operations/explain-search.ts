import type { JsonObject } from '../domain/json.ts'
import type { PlannedBranch, SearchPlan } from '../domain/search/plan.ts'
import type { SearchBranch } from './search-query.ts'

/** How a search was answered: fields and numbers, never a value. */
export const explainSearch = (
  plan: SearchPlan,
  branches: readonly SearchBranch[],
  touchedRows: number,
): JsonObject => ({
  counted_by: plan.isExact ? 'index' : 'opening',
  touched_rows: touchedRows,
  branches: branches.map(({ planned, probes }) => ({
    steps: [
      ...(planned.ids ? [step('id', { estimated_rows: planned.ids.length })] : []),
      ...probes.map(({ field, estimate }) => step(field, { estimated_rows: estimate })),
      ...checks(planned),
    ].map((entry, index) => ({ do: index === 0 ? 'start' : 'check', ...entry })),
  })),
})

const step = (field: string, more: JsonObject): JsonObject => ({ field, ...more })

/** What needs no start: conditions on what another step proposes. */
const checks = ({ without, withoutIds, createdAt, notCreatedAt, opened }: PlannedBranch): JsonObject[] => [
  ...(Object.keys(createdAt).length > 0 ? [step('created_at', {})] : []),
  ...notCreatedAt.map(() => step('created_at', { negated: true })),
  ...withoutIds.map(() => step('id', { negated: true })),
  ...without.map(({ field }) => step(field, { negated: true })),
  ...opened.map(field => step(field, { do: 'open' })),
]
