import type { JsonObject } from '../../domain/json/json.ts'
import { viewProxy } from '../../domain/proxies/proxy.ts'
import { loadGrants, proxyIn } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** U18: without the values of its configuration. */
export const getProxy = async (vault: Vault, caller: Caller, id: string): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  return viewProxy(proxyIn(grants, id, caller.act).resource)
}
