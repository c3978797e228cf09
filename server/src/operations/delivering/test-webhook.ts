import { newUuid } from '../../crypto/uuid.ts'
import { VaultError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { formatInstant } from '../../domain/time/instant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { findWebhook } from './find-webhook.ts'
import { sendEvent } from './send-event.ts'

/** What a test is told as. It is no type of event: nothing happened, and the feed does not have it. */
const testType = 'webhook.test'

/** E3: tells a webhook something now, once, and answers how that went. */
export const testWebhook = async (
  vault: Vault,
  caller: Caller,
  webhookId: string,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const webhook = await findWebhook(vault, caller, webhookId)
  caller.act.finds(webhook.id)
  const { actor } = caller
  const sent = await sendEvent(vault, caller, webhook, {
    id: `evt_${newUuid()}`,
    type: testType,
    timestamp: formatInstant(vault.clock()),
    tenant_id: caller.tenant.id,
    trace_id: caller.act.traceId,
    data: {
      webhook: { id: webhook.id },
      actor: { ...(actor.id !== undefined && { id: actor.id }), type: actor.type },
    },
  })
  // As many calls are under way as there may be.
  if (sent === undefined) throw new VaultError('overloaded')
  const { status, error, ms } = sent
  const answer = { ...(status !== undefined && { status }), ...(error !== undefined && { error }), ms }
  await commit(
    vault,
    caller,
    { tenant: caller.tenantNumber, guarded: [], effects: [], counters: [] },
    answer,
    idempotent,
  )
  return answer
}
