import type { Effect } from '../../store/write-set.ts'
import { newestPosition } from '../events/event-position.ts'
import type { LogOwner } from '../log/log-owner.ts'
import type { Vault } from '../vault/vault.ts'
import { progressRow } from './delivery-rows.ts'

/** A new webhook is told what happens from now on: this goes into the write set that makes it. */
export const startOfWebhook = async (
  vault: Pick<Vault, 'store' | 'vaultKeys'>,
  owner: LogOwner,
  webhookId: string,
): Promise<Effect> => {
  const position = newestPosition(await vault.store.listLogHeads(owner.tenantNumber))
  return { kind: 'putDelivery', row: progressRow(vault, owner, webhookId, { position }) }
}
