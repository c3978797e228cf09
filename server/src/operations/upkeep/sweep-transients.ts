import { limits } from '../../domain/limits.ts'
import type { Vault } from '../vault.ts'

/**
 * C11: deletes transient fields that are due, in bounded batches, then leaves no byte of what was deleted in
 * storage's own files. The shredding also covers tokens that were deleted before their time.
 */
export const sweepTransients = async (vault: Vault): Promise<number> => {
  let purged = 0
  for (;;) {
    const batch = await vault.store.purgeTransients(vault.clock(), limits.sweepBatchRows)
    purged += batch
    if (batch < limits.sweepBatchRows) break
    await nextTurn()
  }
  await vault.store.shred()
  return purged
}

/** Lets waiting requests run between two batches. */
const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
