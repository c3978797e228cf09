import type { JsonObject } from '../../domain/json/json.ts'
import { formatInstant, monthOf } from '../../domain/time/instant.ts'
import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import { loadTenant } from '../grants/load-grants.ts'
import { activeCounter, typeCounter } from '../vault/counters.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** §4.10, C32: reads only kept counters, so a million tokens do not slow it down. */
export const getUsage = async (vault: Vault, caller: Caller): Promise<JsonObject> => {
  const now = vault.clock()
  await vault.activity.flush(caller.tenantNumber)
  const types = [...tokenTypes.keys()]
  const month = activeCounter(monthOf(now))
  const [{ tenant }, { counters, expired }] = await Promise.all([
    loadTenant(vault, caller),
    vault.store.readCounts(caller.tenantNumber, [...types.map(typeCounter), month], now),
  ])
  const metrics: JsonObject = {}
  for (const type of types) {
    const counter = counters.find(({ name }) => name === typeCounter(type))
    if (counter === undefined) continue
    metrics[type] = {
      count: counter.value - (expired.get(type) ?? 0),
      ...(counter.at !== null && { last_created_at: formatInstant(counter.at) }),
    }
  }
  return {
    token_report: {
      metrics_by_type: metrics,
      included_monthly_active_tokens: tenant.includedMonthlyActiveTokens,
      monthly_active_tokens: counters.find(({ name }) => name === month)?.value ?? 0,
    },
  }
}
