import type { Act } from '../../domain/acts/act.ts'
import { newWrappedKey } from '../../keys/make-keys.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/**
 * Gives the tenant its next data key, which seals everything written from then on. If several processes make the next version at
 * once, one succeeds, and the others learn of it like of any change of grants.
 */
export const newDataKey = async (vault: Vault, tenant: UnlockedTenant, act: Act): Promise<boolean> => {
  const { tenantNumber, keys } = tenant
  const { tenantId, currentDataVersion } = keys
  const row = await newWrappedKey(vault.keyProvider, tenantId, 'data', currentDataVersion + 1)
  const { committed } = await vault.store.commit({
    tenant: tenantNumber,
    guarded: [{ kind: 'insertTenantKey', row }],
    effects: [],
    counters: [],
    log: vault.acts.partOf(tenant, act),
  })
  act.isRecorded = committed
  return committed
}
