import { VaultError } from '../../domain/errors.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import { openWebhook } from '../grants/resource-rows.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** The webhook that a request is about, or 404. */
export const findWebhook = async (
  { store, vaultKeys }: Pick<Vault, 'store' | 'vaultKeys'>,
  { tenantNumber, tenant }: Caller,
  id: string,
): Promise<Webhook> => {
  const row = (await store.listResources(tenantNumber)).find(
    found => found.kind === 'webhook' && found.id === id,
  )
  if (row === undefined) throw new VaultError('notFound')
  return openWebhook(vaultKeys, row, tenant.id)
}
