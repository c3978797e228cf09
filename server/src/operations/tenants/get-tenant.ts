import { viewTenant } from '../../domain/access/tenant.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { loadTenant } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** §4.7 */
export const getTenant = async (vault: Vault, caller: Caller): Promise<JsonObject> => {
  const { tenant } = await loadTenant(vault, caller)
  caller.act.finds(tenant.id)
  return viewTenant(tenant)
}
