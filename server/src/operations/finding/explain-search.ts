import type { JsonObject } from '../../domain/json/json.ts'
import type { Vault } from '../vault/vault.ts'
import { mergeSteps, rarestFirst, type Step } from './branch-steps.ts'
import type { PlannedQuery } from './plan-query.ts'

/**
 * How a search was answered: fields and numbers, never a value. The numbers count every token of the tenant, and the
 * order of the steps follows from them. Both would tell a caller who may not see every token about the others, so that
 * caller gets the steps in the order of the query, without numbers.
 */
export const explainSearch = async (
  vault: Vault,
  { plan, steps: branches, query: { tenant, now } }: PlannedQuery,
  { openedRows, seesAll }: { openedRows: number; seesAll: boolean },
): Promise<JsonObject> => {
  const shown: JsonObject[] = []
  for (const branch of branches) {
    const steps = seesAll ? rarestFirst(branch) : branch.map(withoutEstimate)
    const touched = seesAll ? await touchedRows(vault, { tenant, now }, steps) : undefined
    shown.push({
      steps: steps.map((step, index) => ({
        ...showStep(step, index),
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

/** Only the estimate of an id step is kept: the caller knows how many ids it asked for. */
const withoutEstimate = ({ estimate, ...step }: Step): Step =>
  step.asks.ids === undefined || estimate === undefined ? step : { ...step, estimate }

const showStep = ({ field, estimate, isNegated, isOpened }: Step, index: number): JsonObject => ({
  do: isOpened ? 'open' : index === 0 ? 'start' : 'check',
  field,
  ...(estimate !== undefined && { estimated_rows: estimate }),
  ...(isNegated && { negated: true }),
})

/** The first step touches the rows it finds, every other step those that the steps before it left. */
const touchedRows = async (
  { store }: Vault,
  moment: { readonly tenant: number; readonly now: number },
  steps: readonly Step[],
): Promise<number[]> => {
  const touched: number[] = []
  let left = 0
  for (const index of steps.keys()) {
    const passed = await store.countTokens({ ...moment, ...mergeSteps(steps.slice(0, index + 1)) })
    touched.push(index === 0 ? passed : left)
    left = passed
  }
  return touched
}
