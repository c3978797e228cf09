import type { JsonObject } from '../../domain/json/json.ts'
import { formatInstant } from '../../domain/time/instant.ts'
import { loadIndexReport } from '../maintenance/index-report-state.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** What each index of the tenant gives away, as of the job's last pass over all tokens. */
export const getIndexReport = async (vault: Vault, caller: Caller): Promise<JsonObject> => {
  const { report } = await loadIndexReport(vault.store, caller.tenantNumber, caller.keys)
  return {
    ...(report && { computed_at: formatInstant(report.computedAt) }),
    tokens: report?.tokens ?? 0,
    complete: report?.isComplete ?? false,
    indexes: (report?.indexes ?? []).map(({ kind, name, tokens, distinct, largestShare }) => ({
      kind,
      name,
      tokens,
      distinct_terms: distinct,
      largest_share: Number(largestShare.toPrecision(4)),
    })),
  }
}
