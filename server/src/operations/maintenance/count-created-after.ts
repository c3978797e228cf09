import type { Instant } from '../../domain/time/instant.ts'
import { everyType } from '../../domain/tokens/index-terms.ts'
import { hashGroup } from '../tokens/hash-terms.ts'
import type { Vault } from '../vault/vault.ts'

export type TenantCount = { readonly tenantId: string; readonly count: number }

/** How many living tokens were created after this moment, for each tenant that has any. */
export const countCreatedAfter = async (
  vault: Vault,
  moment: Instant,
  now: Instant,
): Promise<TenantCount[]> => {
  const counts: TenantCount[] = []
  for (const { tenant, id } of await vault.store.listTenants()) {
    const unlocked = { tenantNumber: tenant, keys: await vault.keyring.of(tenant, id) }
    const terms = hashGroup(unlocked, everyType)
    const count = await vault.store.countTokens({
      tenant,
      now,
      groups: [terms],
      createdAt: { from: moment + 1 },
    })
    if (count > 0) counts.push({ tenantId: id, count })
  }
  return counts
}
