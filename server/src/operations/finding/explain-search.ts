import type { Term } from '../../domain/index-terms.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { PlannedBranch } from '../../domain/search/plan.ts'
import type { TokenBranch } from '../../store/port.ts'
import { hashTerm } from '../tokens/index-entries.ts'
import type { Caller, Vault } from '../vault.ts'
import { accessField, type PlannedQuery, type Probe, type SearchBranch } from './plan-query.ts'

/**
 * How a search was answered: fields and numbers, never a value. The numbers count every token of the tenant, and the
 * order of the steps follows from them. Both would tell a caller who may not see every token about the others, so that
 * caller gets the steps in the order of the query, without numbers.
 */
export const explainSearch = async (
  vault: Vault,
  caller: Caller,
  { plan, branches, query: { tenant, now } }: PlannedQuery,
  { openedRows, seesAll }: { openedRows: number; seesAll: boolean },
): Promise<JsonObject> => {
  const shown: JsonObject[] = []
  for (const branch of branches) {
    const steps = stepsOf(caller, branch, seesAll)
    const touched = seesAll ? await touchedRows(vault, { tenant, now }, steps) : undefined
    shown.push({
      steps: steps.map((step, index) => ({
        do: index === 0 ? 'start' : 'check',
        ...step.shown,
        ...(touched && { touched_rows: touched[index] ?? 0 }),
      })),
    })
  }
  return {
    counted_by: plan.isExact ? 'index' : 'opening',
    ...(seesAll && { touched_rows: openedRows }),
    branches: shown,
  }
}

/** What a step is called, and what it asks of a token besides what the steps before it asked. */
type Step = { readonly shown: JsonObject; readonly ask: (asked: TokenBranch) => TokenBranch }

/** The first step touches what it finds, every other one what the steps before it left. */
const touchedRows = async (
  { store }: Vault,
  moment: { readonly tenant: number; readonly now: number },
  steps: readonly Step[],
): Promise<number[]> => {
  const touched: number[] = []
  let asked: TokenBranch = { groups: [] }
  let left = 0
  for (const { ask } of steps) {
    asked = ask(asked)
    const passed = await store.countTokens({ ...moment, ...asked })
    touched.push(touched.length === 0 ? passed : left)
    left = passed
  }
  return touched
}

const stepsOf = (caller: Caller, { planned, probes }: SearchBranch, seesAll: boolean): Step[] => {
  const { without, notInContainers, withoutIds, createdAt, notCreatedAt, columns, opened, ids } = planned
  const hashes = (terms: readonly Term[]): Buffer[] => terms.map(term => hashTerm(caller, term))
  const untagged = hashes(planned.inContainers)
  const look = ({ field, terms, estimate }: Probe): Step =>
    step(field, { estimated_rows: estimate }, asked => ({
      ...asked,
      groups: [...asked.groups, terms],
      untagged: [
        ...(asked.untagged ?? []),
        ...untagged.filter(hash => terms.some(term => term.equals(hash))),
      ],
    }))
  return [
    ...(ids ? [step('id', { estimated_rows: ids.length }, asked => ({ ...asked, ids }))] : []),
    ...(seesAll ? probes.map(look) : inOrderOfQuery(planned, probes)),
    // No search starts from these: they check what another step proposes.
    ...(Object.keys(createdAt).length > 0
      ? [step('created_at', {}, asked => ({ ...asked, createdAt }))]
      : []),
    ...notCreatedAt.map(span =>
      step('created_at', { negated: true }, asked => ({
        ...asked,
        notCreatedAt: [...(asked.notCreatedAt ?? []), span],
      })),
    ),
    ...withoutIds.map(id =>
      step('id', { negated: true }, asked => ({ ...asked, withoutIds: [...(asked.withoutIds ?? []), id] })),
    ),
    ...without.map(({ field, terms }) =>
      step(field, { negated: true }, asked => ({
        ...asked,
        without: [...(asked.without ?? []), ...hashes(terms)],
      })),
    ),
    ...notInContainers.map(term =>
      step(term.field, { negated: true }, asked => ({
        ...asked,
        withoutUntagged: [...(asked.withoutUntagged ?? []), ...hashes([term])],
      })),
    ),
    ...columns.map(column =>
      step(column.field, column.negated ? { negated: true } : {}, asked => ({
        ...asked,
        columns: [...(asked.columns ?? []), column],
      })),
    ),
    ...opened.map(field => step(field, { do: 'open' })),
  ]
}

const step = (field: string, more: JsonObject, ask: Step['ask'] = asked => asked): Step => ({
  shown: { field, ...more },
  ask,
})

const inOrderOfQuery = ({ terms }: PlannedBranch, probes: readonly Probe[]): Step[] => [
  ...terms.map(({ field }) => step(field, {})),
  ...probes.filter(({ field }) => field === accessField).map(({ field }) => step(field, {})),
]
