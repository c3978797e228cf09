import { pace } from '../../domain/pace.ts'
import type { Vault } from '../vault/vault.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/** Removes what deleted tenants left behind; their keys were destroyed at once. */
export const purgeDeadTenants = ({ store }: Vault, stopping?: AbortSignal): Promise<number> =>
  purgeInBatches(() => store.purgeDeadTenants(pace.deadTenantBatchRows), stopping)
