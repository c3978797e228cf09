import type { Page } from '../../contract/paging.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { viewProxy } from '../../domain/proxies/proxy.ts'
import { numberedPage } from '../finding/page.ts'
import { loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** U18: newest first. Reads all proxies, because a tenant has few. */
export const listProxies = async (vault: Vault, caller: Caller, page: Page): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  return numberedPage(
    grants.proxies.map(({ resource }) => resource),
    page,
    viewProxy,
  )
}
