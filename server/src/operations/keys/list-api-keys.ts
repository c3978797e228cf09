import { viewApiKey } from '../../domain/access/application.ts'
import type { Json } from '../../domain/json/json.ts'
import { applicationOf, loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C29: oldest first, without their texts. */
export const listApiKeys = async (vault: Vault, caller: Caller, applicationId: string): Promise<Json> => {
  const { grants } = await loadGrants(vault, caller)
  applicationOf(grants, applicationId)
  return grants.apiKeys
    .filter(({ row }) => row.applicationId === applicationId)
    .sort((a, b) => a.grant.createdAt - b.grant.createdAt || (a.row.id < b.row.id ? -1 : 1))
    .map(({ row, grant }) => viewApiKey(row.id, grant, vault.keyUses.latest(row.hash, row.lastUsedAt)))
}
