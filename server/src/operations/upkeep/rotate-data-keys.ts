import { newWrappedKey } from '../../crypto/keys.ts'
import { pace } from '../../domain/pace.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { Vault } from '../vault/vault.ts'
import { eachLoadedTenant } from './each-loaded-tenant.ts'

/**
 * Gives tenants a new data key long before random nonces could repeat under the old one; old rows keep theirs. Each node looks
 * after the keys that it uses. If several nodes make the next version at once, one succeeds, and the others learn of it as they
 * learn of any change of grants. The keys of tenants that are gone are dropped from memory here, too.
 */
export const rotateDataKeys = async (
  vault: Vault,
  sealsMax: number = pace.dataKeySealsMax,
): Promise<number> => {
  let rotated = 0
  vault.callers.forgetIfChanged()
  await eachLoadedTenant(vault, vault.keyring.loaded(), async ({ tenantNumber, keys }) => {
    const { currentDataVersion, tenantId } = keys
    const [seals] = await vault.store.readCounters(tenantNumber, [sealsCounter(currentDataVersion)])
    if (seals === undefined || seals.value < sealsMax) return
    const row = await newWrappedKey(vault.keyProvider, tenantId, 'data', currentDataVersion + 1)
    const { committed } = await vault.store.commit({
      tenant: tenantNumber,
      guarded: [{ kind: 'insertTenantKey', row }],
      effects: [],
      counters: [],
    })
    if (committed) rotated++
  })
  return rotated
}
