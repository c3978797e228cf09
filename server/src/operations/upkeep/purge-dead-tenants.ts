import type { Vault } from '../vault/vault.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/** Removes what deleted tenants left behind; their keys went at once. */
export const purgeDeadTenants = ({ store }: Vault): Promise<number> =>
  purgeInBatches(rowsMax => store.purgeDeadTenants(rowsMax))
