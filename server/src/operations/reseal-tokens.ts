import { resealToken, sealedByOlderKey } from '../crypto/token-seal.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import type { TokenRow } from '../store/rows.ts'
import { pagesOfAll } from './tokens/token-pages.ts'
import { type Unreadable, UnreadableRows } from './tokens/unreadable-rows.ts'
import { sealsCounter } from './vault/counters.ts'
import type { UnlockedTenant, Vault } from './vault/vault.ts'

export type Resealed = { readonly resealed: number } & Unreadable

/** They share a commit. A row may take a megabyte. */
const rowsTogether = 50

/**
 * Seals every token that an older data key has sealed with the tenant's newest one, page by page, with servers running. Nothing
 * else about a token changes, not even its version. One that is written meanwhile is sealed with the newest key by that write.
 */
export const resealTokens = async (vault: Vault, tenant: UnlockedTenant): Promise<Resealed> => {
  const unreadable = new UnreadableRows()
  let resealed = 0
  for await (const rows of pagesOfAll(vault, tenant)) {
    const older = rows.filter(row => sealedByOlderKey(tenant.keys, row))
    for (let at = 0; at < older.length; at += rowsTogether) {
      const group = older.slice(at, at + rowsTogether)
      for (const outcome of await Promise.all(group.map(row => reseal(vault, tenant, row)))) {
        if (outcome === 'resealed') resealed++
        if (outcome instanceof TamperedError) unreadable.note(outcome)
      }
    }
  }
  return { resealed, ...unreadable.summary }
}

/** `missed`: the tenant is gone, or the token changed meanwhile. */
const reseal = async (
  { store }: Vault,
  { tenantNumber, keys }: UnlockedTenant,
  row: TokenRow,
): Promise<'resealed' | 'missed' | TamperedError> => {
  let sealed: Buffer
  try {
    sealed = resealToken(keys, row)
  } catch (error) {
    if (error instanceof TamperedError) return error
    throw error
  }
  const { committed } = await store.commit({
    tenant: tenantNumber,
    guarded: [{ kind: 'updateToken', row: { ...row, sealed }, ifVersion: row.version }],
    effects: [],
    counters: [{ name: sealsCounter(keys.currentDataVersion), by: 1 }],
  })
  return committed ? 'resealed' : 'missed'
}
