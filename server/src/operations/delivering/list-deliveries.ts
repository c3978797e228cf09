import { exactly, openLogState, sealLogState } from '../../crypto/cursor.ts'
import { invalid } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { viewDelivery } from '../../domain/webhooks/delivery.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { openDelivery } from './delivery-rows.ts'
import { findWebhook } from './find-webhook.ts'

/** E5: what could not be delivered at first and has not arrived since, oldest first. */
export const listDeliveries = async (
  vault: Vault,
  caller: Caller,
  webhookId: string,
  { start, size }: { readonly start?: string; readonly size: number },
): Promise<JsonObject> => {
  const { id } = await findWebhook(vault, caller, webhookId)
  caller.act.finds(id)
  const cursorFor = { tenantId: caller.tenant.id, boundTo: `deliveries ${id}` }
  const after = start === undefined ? '' : openLogState(vault.vaultKeys, cursorFor, exactly(start))
  if (typeof after !== 'string')
    throw invalid({ path: 'start', message: 'is not a cursor of this list; start again without it' })
  // One more than it shows, to learn whether there is a next page.
  const rows = await vault.store.listDeliveries(caller.tenantNumber, id, after, size + 1)
  const shown = rows.slice(0, size)
  const last = shown.at(-1)
  const next =
    rows.length > size && last !== undefined
      ? { next: sealLogState(vault.vaultKeys, cursorFor, last.id).toString('base64url') }
      : {}
  return {
    pagination: { page_size: size, ...next },
    data: shown.map(row => viewDelivery(openDelivery(vault, caller, row), row.dueAt)),
  }
}
