import { newWrappedKey } from '../../keys/make-keys.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/**
 * Gives the tenant its next data key, which seals everything written from then on. If several processes make the next version at
 * once, one succeeds, and the others learn of it like of any change of grants.
 */
export const newDataKey = async (vault: Vault, { tenantNumber, keys }: UnlockedTenant): Promise<boolean> => {
  const { tenantId, currentDataVersion } = keys
  const row = await newWrappedKey(vault.keyProvider, tenantId, 'data', currentDataVersion + 1)
  const { committed } = await vault.store.commit({
    tenant: tenantNumber,
    guarded: [{ kind: 'insertTenantKey', row }],
    effects: [],
    counters: [],
  })
  return committed
}
