import { newWrappedKey } from '../crypto/keys.ts'
import { limits } from '../domain/limits.ts'
import { sealsCounter } from './counters.ts'
import type { Vault } from './vault.ts'

/** Gives tenants a new data key long before random nonces could repeat under the old one; old rows keep theirs. */
export const rotateDataKeys = async (
  vault: Vault,
  sealsMax: number = limits.dataKeySealsMax,
): Promise<number> => {
  let rotated = 0
  for (const { tenantNumber, tenantId } of vault.tenantKeys.loaded()) {
    const { currentDataVersion } = await vault.tenantKeys.of(tenantNumber, tenantId)
    const [seals] = await vault.store.readCounters(tenantNumber, [sealsCounter(currentDataVersion)])
    if (seals === undefined || seals.value < sealsMax) continue
    const row = await newWrappedKey(vault.keyProvider, tenantId, 'data', currentDataVersion + 1)
    const { committed } = await vault.store.commit({
      tenant: tenantNumber,
      guarded: [{ kind: 'insertTenantKey', row }],
      effects: [],
      counters: [],
    })
    vault.tenantKeys.forget(tenantNumber)
    vault.callers.clear()
    if (committed) rotated++
  }
  return rotated
}
