import type { CreateWebhookSecret } from '../../contract/webhooks/schemas.ts'
import { newWebhookSecret } from '../../crypto/webhook-secret.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import {
  renewSecret,
  secretGraceHoursDefault,
  viewWebhook,
  type Webhook,
  withoutSecret,
} from '../../domain/webhooks/webhook.ts'
import { webhookIn } from '../grants/load-grants.ts'
import { webhookRow } from '../grants/resource-rows.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'

/** E3: a new secret signs from now on, and the one before as well until its grace ends. */
export const createWebhookSecret = (
  vault: Vault,
  caller: Caller,
  id: string,
  { grace_hours: graceHours = secretGraceHoursDefault }: CreateWebhookSecret,
  idempotent?: Idempotent,
): Promise<JsonObject> =>
  reviseTenant(
    vault,
    caller,
    grants => {
      const { resource: before } = webhookIn(grants, id, caller.act)
      const secret = newWebhookSecret()
      const now = vault.clock()
      const webhook: Webhook = {
        ...before,
        secrets: renewSecret(before, secret, { now, graceHours }),
        modifiedBy: caller.application.id,
        modifiedAt: modifiedNow(before, now),
      }
      const answer = { ...viewWebhook(webhook), secret }
      return {
        effects: [{ kind: 'putResource', row: webhookRow(vault.vaultKeys, grants.tenant.id, webhook) }],
        answer,
        kept: withoutSecret(answer),
        record: { entityId: id, fields: ['grace_hours'] },
      }
    },
    idempotent,
  )
