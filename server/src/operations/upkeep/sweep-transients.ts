import { transientDeadlines } from '../../domain/tokens/transients.ts'
import type { Vault } from '../vault/vault.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/**
 * C11: deletes transient fields that are due, then leaves no byte of what was deleted in storage's own files. The
 * shredding also covers tokens that were deleted before their time.
 */
export const sweepTransients = async ({ store, clock }: Vault): Promise<number> => {
  const purged = await purgeInBatches(rowsMax => store.purgeTransients(transientDeadlines(clock()), rowsMax))
  await store.shred()
  return purged
}
