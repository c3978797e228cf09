import { limits } from '../../domain/limits.ts'
import type { Vault } from '../vault.ts'

/** Removes what deleted tenants left behind, in batches between which requests are answered. */
export const purgeDeadTenants = async ({ store }: Vault): Promise<number> => {
  let purged = 0
  for (;;) {
    const rows = await store.purgeDeadTenants(limits.sweepBatchRows)
    if (rows === 0) return purged
    purged += rows
    await new Promise(resolve => setImmediate(resolve))
  }
}
