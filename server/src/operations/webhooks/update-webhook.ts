import type { CreateWebhook } from '../../contract/webhooks/schemas.ts'
import { webhookOf } from '../../domain/acts/grants.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { viewWebhook, type Webhook } from '../../domain/webhooks/webhook.ts'
import { defineWebhook } from '../../domain/webhooks/webhook-definition.ts'
import { type Grants, webhookIn } from '../grants/load-grants.ts'
import { webhookRow } from '../grants/resource-rows.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'

/** E3: replaces all but the secrets. */
export const updateWebhook = (
  vault: Vault,
  caller: Caller,
  id: string,
  body: CreateWebhook,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const decide = (grants: Grants): Revision<JsonObject> => {
    const { resource: before } = webhookIn(grants, id, caller.act)
    const issues: Issue[] = []
    const defined = defineWebhook(body, vault.destinationPorts, issues)
    requireNone(issues)
    const { disabledBecause, ...rest } = before
    const webhook: Webhook = {
      ...rest,
      ...defined,
      ...(defined.status === 'disabled' && disabledBecause && { disabledBecause }),
      modifiedBy: caller.application.id,
      modifiedAt: modifiedNow(before, vault.clock()),
    }
    return {
      effects: [{ kind: 'putResource', row: webhookRow(vault.vaultKeys, grants.tenant.id, webhook) }],
      answer: viewWebhook(webhook),
      record: {
        entityId: id,
        fields: Object.keys(body),
        before: webhookOf(before),
        after: webhookOf(webhook),
      },
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}
