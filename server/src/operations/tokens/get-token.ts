import { decisionFor } from '../../domain/access/access.ts'
import { VaultError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { loadToken } from './load-token.ts'
import { showToken } from './show-token.ts'

/** §4.4 */
export const getToken = async (vault: Vault, caller: Caller, id: string): Promise<JsonObject> => {
  const token = await loadToken(vault, caller, id)
  const decision = token && decisionFor(caller.application, 'token:read', token.containers)
  if (token === undefined || decision === undefined) throw new VaultError('notFound')
  const now = vault.clock()
  vault.activity.note(caller.tenantNumber, [token], now)
  caller.act.touches(token, 'token:read', decision)
  return showToken(vault, token, decision.transform, now)
}
