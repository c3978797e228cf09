import type { CreateWebhook } from '../../contract/webhooks/schemas.ts'
import { newUuid } from '../../crypto/uuid.ts'
import { newWebhookSecret } from '../../crypto/webhook-secret.ts'
import { webhookOf } from '../../domain/acts/grants.ts'
import { type Issue, invalid, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { Secret } from '../../domain/secret.ts'
import { viewWebhook, type Webhook, withoutSecret } from '../../domain/webhooks/webhook.ts'
import { defineWebhook } from '../../domain/webhooks/webhook-definition.ts'
import { startOfWebhook } from '../delivering/start-of-webhook.ts'
import type { Grants } from '../grants/load-grants.ts'
import { webhookRow } from '../grants/resource-rows.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'

/** E3: creates a webhook with its secret, which only this answer contains. */
export const createWebhook = async (
  vault: Vault,
  caller: Caller,
  body: CreateWebhook,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const defined = defineWebhook(body, vault.destinationPorts, issues)
  requireNone(issues)
  const id = newUuid()
  const start = await startOfWebhook(vault, caller, id)
  const decide = (grants: Grants): Revision<JsonObject> => {
    if (grants.webhooks.length >= limits.webhooksPerTenant)
      throw invalid({ path: '$', message: `the tenant has ${limits.webhooksPerTenant} webhooks already` })
    const secret = newWebhookSecret()
    const webhook: Webhook = {
      id,
      ...defined,
      secrets: [{ value: new Secret(secret) }],
      createdBy: caller.application.id,
      createdAt: vault.clock(),
    }
    const answer = { ...viewWebhook(webhook), secret }
    return {
      effects: [{ kind: 'putResource', row: webhookRow(vault.vaultKeys, grants.tenant.id, webhook) }, start],
      answer,
      kept: withoutSecret(answer),
      record: { entityId: webhook.id, after: webhookOf(webhook) },
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}
