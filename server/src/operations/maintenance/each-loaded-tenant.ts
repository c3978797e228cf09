import { TamperedError } from '../../domain/tampered-error.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { keysUnlessDeleted } from '../vault/tenant-keyring.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

export type LoadedTenant = ReturnType<Vault['keyring']['loaded']>[number]

/**
 * Does the work for each tenant whose keys are in memory. A tenant whose keys or rows do not open does not hold up the others:
 * the first such error is thrown at the end. Keys of deleted tenants are forgotten.
 */
export const eachLoadedTenant = async (
  vault: Vault,
  tenants: readonly LoadedTenant[],
  work: (tenant: UnlockedTenant) => Promise<void>,
): Promise<void> => {
  let failure: Error | undefined
  for (const { tenantNumber, tenantId } of tenants) {
    const isThere = (await vault.store.getTenant(tenantNumber))?.id === tenantId
    try {
      const keys = isThere ? await keysUnlessDeleted(vault, tenantNumber, tenantId) : undefined
      if (keys === undefined) vault.keyring.forget(tenantNumber)
      else await work({ tenantNumber, keys })
    } catch (error) {
      if (!(error instanceof KeyProviderError || error instanceof TamperedError)) throw error
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
}
