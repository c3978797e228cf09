import type { TenantKeys } from '../../crypto/keys.ts'
import type { TenantKeyring } from './tenant-keyring.ts'
import type { Vault } from './vault.ts'

/**
 * Undefined for a tenant that was deleted after its row was read: it has no keys any more, which is no failure of the key
 * provider.
 */
export const keysUnlessDeleted = async (
  { store, keyring }: Vault,
  tenantNumber: number,
  tenantId: string,
  look: TenantKeyring['of'] = keyring.of,
): Promise<TenantKeys | undefined> => {
  try {
    return await look(tenantNumber, tenantId)
  } catch (error) {
    if ((await store.getTenant(tenantNumber))?.id === tenantId) throw error
    return undefined
  }
}
