import { VaultError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { eventIdOf, viewDelivery } from '../../domain/webhooks/delivery.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { openDelivery } from './delivery-rows.ts'
import { findWebhook } from './find-webhook.ts'

/** E5: has a failed event attempted now, by the node that delivers. Nothing more is sent while it is under way. */
export const retryDelivery = async (
  vault: Vault,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const { id: webhook, status } = await findWebhook(vault, caller, webhookId)
  const id = eventIdOf(deliveryId)
  const row = id && (await vault.store.getDelivery(caller.tenantNumber, webhook, id))
  if (!row) throw new VaultError('notFound')
  caller.act.finds(webhook)
  const delivery = openDelivery(vault, caller, row)
  const now = vault.clock()
  if ((delivery.busyUntil ?? 0) > now) throw new VaultError('deliveryInFlight')
  if (status === 'disabled') throw new VaultError('webhookDisabled')
  const answer = viewDelivery(delivery, now)
  const hasten = { kind: 'hastenDelivery', webhookId: webhook, id: row.id, at: now } as const
  const changes = { tenant: caller.tenantNumber, guarded: [], effects: [hasten], counters: [] }
  await commit(vault, caller, changes, answer, idempotent)
  return answer
}
