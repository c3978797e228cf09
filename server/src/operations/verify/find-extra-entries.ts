import type { IndexEntry } from '../../store/rows.ts'
import { entriesOf } from '../tokens/index-entries.ts'
import { tokensPerPage } from '../tokens/token-pages.ts'
import { openIfWhole } from '../tokens/token-rows.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { pagesOfEntries } from './pages.ts'
import { isUnchanged, sealedNow } from './sealed-rows.ts'
import type { ExtraEntry, Tell } from './verification.ts'

/** Opens the token of every entry. So it runs only if there are more entries than the tokens should have. */
export const findExtraEntries = async (vault: Vault, tenant: UnlockedTenant, tell: Tell): Promise<void> => {
  for await (const page of pagesOfEntries(vault, tenant, tokensPerPage)) {
    const ids = [...new Set(page.map(({ tokenId }) => tokenId))]
    const { rows } = await vault.store.getTokens(tenant.tenantNumber, ids)
    const expected = new Map<string, { sealed: Uint8Array; names: Set<string> }>()
    for (const row of rows) {
      const token = openIfWhole(row, tenant.keys)
      if (token === undefined) continue
      expected.set(row.id, { sealed: row.sealed, names: new Set(entriesOf(tenant, token).map(entryName)) })
    }
    const suspects = page.filter(entry => !expected.get(entry.tokenId)?.names.has(entryName(entry)))
    const gone = new Set(await vault.store.findAbsentTerms(tenant.tenantNumber, suspects))
    const now = await sealedNow(vault, tenant, suspects)
    const extra = suspects.flatMap((entry): ExtraEntry[] => {
      // Undefined both for a missing token and for one whose row does not open. The entries of the second stay, because its row
      // is there.
      const then = expected.get(entry.tokenId)?.sealed
      const isExtra = !gone.has(entry) && isUnchanged(then, now.get(entry.tokenId))
      return isExtra ? [{ ...entry, sealed: then ?? null }] : []
    })
    await tell({ extra })
  }
}

/**
 * The key of an entry. An entry with a wrong expiry, tag or signature is not extra: `missing` lists it with the right values.
 */
const entryName = ({ term, createdAt }: IndexEntry): string =>
  `${createdAt} ${Buffer.from(term).toString('base64')}`
