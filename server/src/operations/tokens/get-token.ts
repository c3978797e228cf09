import { readTransform } from '../../domain/access/access.ts'
import { VaultError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { loadToken } from './load-token.ts'
import { showToken } from './show-token.ts'

/** §4.4 */
export const getToken = async (vault: Vault, caller: Caller, id: string): Promise<JsonObject> => {
  const token = await loadToken(vault, caller, id)
  const transform = token && readTransform(caller.application, token.containers)
  if (token === undefined || transform === undefined) throw new VaultError('notFound')
  const now = vault.clock()
  vault.activity.note(caller.tenantNumber, [token], now)
  return showToken(vault, token, transform, now)
}
