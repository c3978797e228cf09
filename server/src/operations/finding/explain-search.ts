import type { JsonObject } from '../../domain/json/json.ts'
import { pace } from '../../domain/pace.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { mergeSteps, rarestFirst, type Step } from './branch-steps.ts'
import type { PlannedQuery } from './plan-query.ts'

/**
 * Explains how a search was answered, with fields and numbers but no values. The numbers count every token of the tenant, and the
 * order of the steps follows from them. Both would tell a caller who may not see every token about the others. That caller gets
 * the steps in the order of the query, without numbers.
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

/** Keeps only the estimate of an id step: the caller knows how many ids it asked for. */
const withoutEstimate = ({ estimate, ...step }: Step): Step =>
  step.asks.ids === undefined || estimate === undefined ? step : { ...step, estimate }

const showStep = ({ field, estimate, negated, isOpened }: Step, index: number): JsonObject => ({
  do: isOpened ? 'open' : index === 0 ? 'start' : 'check',
  field,
  ...(estimate !== undefined && { estimated_rows: estimate }),
  ...(negated && { negated }),
})

/**
 * The first step touches the rows that it finds. Every other step touches the rows that the steps before it left. A branch is
 * counted once for each of its steps, so counting stops at the step that brings the rows touched above `rowsMax`.
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
    // The second step touches the rows that the first one found. A step that opens tokens filters none in storage.
    const isAsBefore = index === 1 || steps[index - 1]?.isOpened === true
    const rows = isAsBefore
      ? (touched[index - 1] ?? 0)
      : await store.countTokens({ ...moment, ...mergeSteps(before) }, work)
    touched.push(rows)
    sum += rows
  }
  return touched
}
