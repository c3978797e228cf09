import { viewApiKey } from '../../domain/access/application.ts'
import { VaultError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C29: one of the application's keys, without its text. */
export const getApiKey = async (
  vault: Vault,
  caller: Caller,
  applicationId: string,
  id: string,
): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  const found = grants.apiKeys.find(({ row }) => row.id === id && row.applicationId === applicationId)
  if (found === undefined) throw new VaultError('notFound')
  const { row, grant } = found
  caller.act.finds(id)
  return viewApiKey(id, grant, vault.keyUses.latest(row.hash, row.lastUsedAt))
}
