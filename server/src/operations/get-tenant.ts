import { viewTenant } from '../domain/access/tenant-view.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { loadGrants } from './grants/load-grants.ts'
import type { Caller, Vault } from './vault/vault.ts'

/** §4.7 */
export const getTenant = async (vault: Vault, caller: Caller): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  return viewTenant(grants.tenant)
}
