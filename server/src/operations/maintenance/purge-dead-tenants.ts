import { pace } from '../../domain/pace.ts'
import type { Vault } from '../vault/vault.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/** Removes the rows of deleted tenants. Their keys were destroyed with the deletion. */
export const purgeDeadTenants = ({ store }: Vault, stopping?: AbortSignal): Promise<number> =>
  purgeInBatches(() => store.purgeDeadTenants(pace.deadTenantBatchRows), stopping)
