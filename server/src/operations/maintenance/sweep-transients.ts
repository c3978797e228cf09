import { pace } from '../../domain/pace.ts'
import { transientDeadlines } from '../../domain/tokens/transients.ts'
import type { Vault } from '../vault/vault.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/**
 * C11: deletes transient fields that are due, then shreds them, so that storage's own files keep no byte of them. Shredding also
 * covers fields of tokens that were deleted earlier.
 */
export const sweepTransients = async ({ store, clock }: Vault, stopping?: AbortSignal): Promise<number> => {
  const purged = await purgeInBatches(
    () => store.purgeTransients(transientDeadlines(clock()), pace.sweepBatchRows),
    stopping,
  )
  await store.shred()
  return purged
}
