import { viewTenant } from '../../domain/access/tenant.ts'
import { settingsOf } from '../../domain/acts/grants.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { sealTenant } from '../grants/grant-rows.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C32: the operator decides what a tenant's plan includes. Nothing changes for the tenant, so `modifiedAt` stays. */
export const setIncludedTokens = (
  vault: Vault,
  operator: Caller,
  includedMonthlyActiveTokens: number,
): Promise<JsonObject> =>
  reviseTenant(vault, operator, ({ tenant }) => {
    const updated = { ...tenant, includedMonthlyActiveTokens }
    return {
      effects: [{ kind: 'putTenant', sealed: sealTenant(vault.vaultKeys, updated) }],
      answer: viewTenant(updated),
      record: { entityId: tenant.id, before: settingsOf(tenant), after: settingsOf(updated) },
    }
  })
