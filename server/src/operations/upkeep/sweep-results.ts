import { limits } from '../../domain/limits.ts'
import type { Vault } from '../vault.ts'

/** §4.11.7: kept answers go after 24 hours. */
export const sweepResults = async ({ store, clock }: Vault): Promise<number> => {
  let purged = 0
  for (;;) {
    const rows = await store.purgeResults(clock(), limits.sweepBatchRows)
    purged += rows
    if (rows < limits.sweepBatchRows) return purged
    await new Promise(resolve => setImmediate(resolve))
  }
}
