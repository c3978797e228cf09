import { pace } from '../../domain/pace.ts'
import { jobAct } from '../log/acting.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { Vault } from '../vault/vault.ts'
import { eachLoadedTenant } from './each-loaded-tenant.ts'
import { newDataKey } from './new-data-key.ts'

/**
 * Gives tenants a new data key long before random nonces could repeat under the old one. Old rows keep their key. Each node takes
 * care of the keys that it uses, and drops the keys of deleted tenants from memory.
 */
export const rotateDataKeys = async (
  vault: Vault,
  sealsMax: number = pace.dataKeySealsMax,
): Promise<number> => {
  let rotated = 0
  vault.callers.forgetIfChanged()
  vault.proxies.forgetIfChanged()
  await eachLoadedTenant(vault, vault.keyring.loaded(), async tenant => {
    const { tenantNumber, keys } = tenant
    const [seals] = await vault.store.readCounters(tenantNumber, [sealsCounter(keys.currentDataVersion)])
    if (seals === undefined || seals.value < sealsMax) return
    const act = jobAct({ operation: 'rotate-data-keys', entityType: 'tenant' })
    act.finds(keys.tenantId)
    if (await newDataKey(vault, tenant, act)) rotated++
  })
  return rotated
}
