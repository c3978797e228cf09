import { setImmediate as nextIteration } from 'node:timers/promises'
import type { TokenRow } from '../../store/rows.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

export const tokensPerPage = 500

/** Every token of the tenant, in pages. Others may write between two pages. */
export async function* pagesOfAll(
  vault: Vault,
  { tenantNumber }: UnlockedTenant,
): AsyncGenerator<TokenRow[]> {
  for (let after: string | undefined; ; ) {
    const rows = await vault.store.scanTokens(tenantNumber, after, tokensPerPage)
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)?.id
    // A scan cannot continue from an id that is not text, which reads as ''. Such rows sort last and are on this page.
    if (after === '') return
    await nextIteration()
  }
}
