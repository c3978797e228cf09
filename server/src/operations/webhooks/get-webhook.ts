import type { JsonObject } from '../../domain/json/json.ts'
import { viewWebhook } from '../../domain/webhooks/webhook.ts'
import { loadGrants, webhookIn } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** E3: without its secrets. */
export const getWebhook = async (vault: Vault, caller: Caller, id: string): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  return viewWebhook(webhookIn(grants, id, caller.act).resource)
}
