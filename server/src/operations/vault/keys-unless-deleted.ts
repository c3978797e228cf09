import type { TenantKeys } from '../../crypto/keys.ts'
import type { TenantRow } from '../../store/rows.ts'
import type { Vault } from './vault.ts'

/**
 * Undefined for a tenant that was deleted after its row was read: it has no keys any more, which is no failure of the key
 * provider.
 */
export const keysUnlessDeleted = async (
  { store, keyring }: Vault,
  { tenant, id }: Pick<TenantRow, 'tenant' | 'id'>,
): Promise<TenantKeys | undefined> => {
  try {
    return await keyring.of(tenant, id)
  } catch (error) {
    if ((await store.getTenant(tenant))?.id === id) throw error
    return undefined
  }
}
