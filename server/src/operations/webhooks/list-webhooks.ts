import type { Page } from '../../contract/paging.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { viewWebhook } from '../../domain/webhooks/webhook.ts'
import { numberedPage } from '../finding/page.ts'
import { loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** E3: newest first. Reads all webhooks, because a tenant has few. */
export const listWebhooks = async (vault: Vault, caller: Caller, page: Page): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  return numberedPage(
    grants.webhooks.map(({ resource }) => resource),
    page,
    viewWebhook,
  )
}
