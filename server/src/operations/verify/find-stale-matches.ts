import { setImmediate as nextIteration } from 'node:timers/promises'
import type { MatchRow } from '../../store/rows.ts'
import { matchOf, sameMatch } from '../tokens/deduplication/match.ts'
import { tokensPerPage } from '../tokens/token-pages.ts'
import { openIfWhole } from '../tokens/token-rows.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { isUnchanged } from './sealed-rows.ts'
import type { Tell } from './verification.ts'

/** Claims on a match (C15) by tokens that do not have it, or are gone. */
export const findStaleMatches = async (vault: Vault, tenant: UnlockedTenant, tell: Tell): Promise<void> => {
  for (let after: MatchRow | undefined; ; ) {
    const page = await vault.store.scanMatches(tenant.tenantNumber, after, tokensPerPage)
    const { rows } = await vault.store.getTokens(
      tenant.tenantNumber,
      page.map(({ tokenId }) => tokenId),
    )
    const holders = new Map(rows.map(row => [row.id, row]))
    const matches: MatchRow[] = []
    for (const match of page) {
      const row = holders.get(match.tokenId)
      const holder = row && openIfWhole(row, tenant.keys)
      const isUnreadable = row !== undefined && holder === undefined
      if (isUnreadable || (holder && sameMatch(matchOf(tenant, holder), match))) continue
      // Another token may have claimed the match meanwhile, or its holder may have changed.
      const holderNow = await vault.store.findMatchHolder(tenant.tenantNumber, match)
      const rowNow = await vault.store.getToken(tenant.tenantNumber, match.tokenId)
      if (holderNow === match.tokenId && isUnchanged(row?.sealed, rowNow?.sealed)) matches.push(match)
    }
    await tell({ matches })
    if (page.length < tokensPerPage) return
    after = page.at(-1)
    await nextIteration()
  }
}
