import { setImmediate as nextIteration } from 'node:timers/promises'
import { startOfOwnIds } from '../../domain/tokens/token-id.ts'
import type { IndexEntry, TokenRow } from '../../store/rows.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/**
 * A few tokens from each of many random moments since the tenant was created. Ids made by the vault begin with their time, so a
 * moment determines a start in the order of ids.
 */
export async function* pagesOfSome(
  vault: Vault,
  { tenantNumber, createdAt }: UnlockedTenant & { createdAt: number },
  size: number,
  random: () => number,
): AsyncGenerator<TokenRow[]> {
  const runLength = 20
  const seen = new Set<string>()
  for (let run = 0; run < Math.ceil(size / runLength); run++) {
    const moment = Math.floor(createdAt + random() * (vault.clock() - createdAt))
    const found = await vault.store.scanTokens(tenantNumber, startOfOwnIds(moment), runLength)
    const more =
      found.length < runLength
        ? await vault.store.scanTokens(tenantNumber, undefined, runLength - found.length)
        : []
    const fresh = [...found, ...more].filter(({ id }) => !seen.has(id)).slice(0, size - seen.size)
    for (const { id } of fresh) seen.add(id)
    if (fresh.length > 0) yield fresh
  }
}

export async function* pagesOfEntries(
  vault: Vault,
  { tenantNumber }: UnlockedTenant,
  limit: number,
): AsyncGenerator<IndexEntry[]> {
  for (let after: IndexEntry | undefined; ; ) {
    const page = await vault.store.scanTerms(tenantNumber, after, limit)
    if (page.length === 0) return
    yield page
    after = page.at(-1)
    await nextIteration()
  }
}
