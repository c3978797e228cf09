import { pace } from '../../domain/pace.ts'
import { transientDeadlines } from '../../domain/tokens/transients.ts'
import { jobAct } from '../log/acting.ts'
import type { Vault } from '../vault/vault.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/**
 * C11: deletes transient fields that are due, then shreds them, so that storage's own files keep no byte of them. Shredding also
 * covers fields of tokens that were deleted earlier.
 */
export const sweepTransients = async (vault: Vault, stopping?: AbortSignal): Promise<number> => {
  const { store, clock } = vault
  await recordPurges(vault)
  const purged = await purgeInBatches(
    () => store.purgeTransients(transientDeadlines(clock()), pace.sweepBatchRows),
    stopping,
  )
  await store.shred()
  return purged
}

/** One record for each tenant, before anything is purged: a crash in between leads to a second one, and to none without a record. */
const recordPurges = async ({ store, clock, acts }: Vault): Promise<void> => {
  for (const { tenant, due } of await store.countDueTransients(transientDeadlines(clock()))) {
    const row = await store.getTenant(tenant)
    if (row === undefined) continue
    const act = jobAct({ operation: 'sweep-transients', entityType: 'token' })
    act.says({ count: due })
    await acts.record({ tenantNumber: tenant, keys: { tenantId: row.id } }, act)
  }
}
