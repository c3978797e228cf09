import { KeyProviderError } from '../../crypto/key-provider.ts'
import { TamperedError } from '../../domain/errors.ts'
import type { UnlockedTenant, Vault } from '../vault.ts'

export type LoadedTenant = ReturnType<Vault['tenantKeys']['loaded']>[number]

/** Those that were deleted elsewhere have no keys any more; `rotateDataKeys` forgets them. */
export const isGone = async (vault: Vault, { tenantNumber, tenantId }: LoadedTenant): Promise<boolean> =>
  (await vault.store.getTenant(tenantNumber))?.id !== tenantId

/**
 * Does the work for each of the tenants whose keys are in memory. One whose keys or rows do not open does not keep the
 * others from their turn: what was wrong with the first such is thrown at the end.
 */
export const eachLoadedTenant = async (
  vault: Vault,
  tenants: readonly LoadedTenant[],
  work: (tenant: UnlockedTenant) => Promise<void>,
): Promise<void> => {
  let failure: Error | undefined
  for (const tenant of tenants) {
    if (await isGone(vault, tenant)) continue
    try {
      const { tenantNumber, tenantId } = tenant
      await work({ tenantNumber, keys: await vault.tenantKeys.of(tenantNumber, tenantId) })
    } catch (error) {
      if (!(error instanceof KeyProviderError || error instanceof TamperedError)) throw error
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
}
