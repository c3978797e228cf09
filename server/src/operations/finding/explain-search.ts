import type { JsonObject } from '../../domain/json/json.ts'
import { pace } from '../../domain/pace.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { mergeSteps, rarestFirst, type Step } from './branch-steps.ts'
import type { PlannedQuery } from './plan-query.ts'

/**
 * How a search was answered: fields and numbers, never a value. The numbers count every token of the tenant, and the
 * order of the steps follows from them. Both would tell a caller who may not see every token about the others, so that
 * caller gets the steps in the order of the query, without numbers.
 */
export const explainSearch = async (
  vault: Vault,
  { work }: Caller,
  { isExact, steps: branches, carriedOut, query: { tenant, now } }: PlannedQuery,
  { openedRows, seesAll }: { openedRows: number; seesAll: boolean },
): Promise<JsonObject> => {
  const shown: JsonObject[] = []
  let rowsLeft = pace.explainedRowsMax
  for (const branch of branches) {
    const steps = carriedOut(seesAll ? rarestFirst(branch) : branch.map(withoutEstimate))
    const touched = seesAll ? await touchedRows(vault, { tenant, now }, steps, rowsLeft, work) : []
    rowsLeft -= touched.reduce((sum, rows) => sum + rows, 0)
    shown.push({
      steps: steps.map((step, index) => ({
        ...showStep(step, index),
        ...(touched[index] !== undefined && { touched_rows: touched[index] }),
      })),
    })
  }
  return {
    counted_by: isExact ? 'index' : 'opening',
    ...(seesAll && { touched_rows: openedRows }),
    branches: shown,
  }
}

/** Only the estimate of an id step is kept: the caller knows how many ids it asked for. */
const withoutEstimate = ({ estimate, ...step }: Step): Step =>
  step.asks.ids === undefined || estimate === undefined ? step : { ...step, estimate }

const showStep = ({ field, estimate, negated, isOpened }: Step, index: number): JsonObject => ({
  do: isOpened ? 'open' : index === 0 ? 'start' : 'check',
  field,
  ...(estimate !== undefined && { estimated_rows: estimate }),
  ...(negated && { negated }),
})

/**
 * The first step touches the rows it finds, every other step those that the steps before it left. A branch is counted
 * once for each of its steps, so counting ends with the step by which more than `rowsMax` rows were touched.
 */
const touchedRows = async (
  { store }: Vault,
  moment: { readonly tenant: number; readonly now: number },
  steps: readonly Step[],
  rowsMax: number,
  work: Caller['work'],
): Promise<number[]> => {
  const touched: number[] = []
  let sum = 0
  for (const index of steps.keys()) {
    if (sum > rowsMax) break
    const before = steps.slice(0, Math.max(1, index))
    // The second step touches what the first has found, and one that opens tokens keeps storage from none.
    const isAsBefore = index === 1 || steps[index - 1]?.isOpened === true
    const rows = isAsBefore
      ? (touched[index - 1] ?? 0)
      : await store.countTokens({ ...moment, ...mergeSteps(before) }, work)
    touched.push(rows)
    sum += rows
  }
  return touched
}
