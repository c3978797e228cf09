import { setImmediate as nextIteration } from 'node:timers/promises'
import type { TokenRow } from '../../store/rows.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

export const tokensPerPage = 500

/** Every token of the tenant, in pages between which others may write. */
export async function* pagesOfAll(
  vault: Vault,
  { tenantNumber }: UnlockedTenant,
): AsyncGenerator<TokenRow[]> {
  for (let after: string | undefined; ; ) {
    const rows = await vault.store.scanTokens(tenantNumber, after, tokensPerPage)
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)?.id
    // A scan cannot go on from an id that is not text, which reads as ''. Such rows come last, and are on this page.
    if (after === '') return
    await nextIteration()
  }
}
