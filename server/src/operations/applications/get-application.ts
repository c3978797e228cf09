import { viewApplication } from '../../domain/access/application.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { applicationOf, loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C29 */
export const getApplication = async (vault: Vault, caller: Caller, id: string): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  return viewApplication(applicationOf(grants, id, caller.act))
}
