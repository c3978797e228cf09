import { resealToken, sealedByOlderKey } from '../../crypto/data-seal.ts'
import { VaultError } from '../../domain/errors.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { TokenRow } from '../../store/rows.ts'
import { pagesOfAll } from '../tokens/token-pages.ts'
import { type Unreadable, UnreadableRows } from '../tokens/unreadable-rows.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/** `left`: tokens that others have changed in each pass, before it came to them. */
export type Resealed = { readonly resealed: number; readonly left: number } & Unreadable

/** They share a commit. A row may take a megabyte. */
const rowsTogether = 50

/** Two are usual: what a server has sealed before it heard of the newest key, storage keeps waiting for seconds, not for hours. */
const passesMax = 8

/**
 * Seals every token that an older data key has sealed with the tenant's newest one, page by page, with servers running. Nothing
 * else about a token changes, not even its version.
 *
 * A write that was sealed with an older key may have waited in storage, for a row that somebody else holds, and may then be made
 * just before this comes to its token, or behind the page that it has reached. So it looks at all tokens again until none is left.
 */
export const resealTokens = async (vault: Vault, tenant: UnlockedTenant): Promise<Resealed> => {
  let resealed = 0
  for (let pass = 1; ; pass++) {
    const { left, ...found } = await resealOnce(vault, tenant)
    resealed += found.resealed
    if (found.resealed + left === 0 || pass === passesMax) return { ...found, resealed, left }
  }
}

const resealOnce = async (vault: Vault, tenant: UnlockedTenant): Promise<Resealed> => {
  const unreadable = new UnreadableRows()
  let resealed = 0
  let left = 0
  for await (const rows of pagesOfAll(vault, tenant)) {
    const older = rows.filter(row => sealedByOlderKey(tenant.keys, row))
    for (let at = 0; at < older.length; at += rowsTogether) {
      const group = older.slice(at, at + rowsTogether)
      for (const outcome of await Promise.all(group.map(row => reseal(vault, tenant, row)))) {
        if (outcome === 'resealed') resealed++
        if (outcome === 'missed') left++
        if (outcome instanceof TamperedError) unreadable.note(outcome)
      }
    }
  }
  return { resealed, left, ...unreadable.summary }
}

/** `missed`: the token was changed or deleted meanwhile. */
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
  const outcome = await store.commit({
    tenant: tenantNumber,
    guarded: [{ kind: 'updateToken', row: { ...row, sealed }, ifVersion: row.version }],
    effects: [],
    counters: [{ name: sealsCounter(keys.currentDataVersion), by: 1 }],
    log: null,
  })
  if (outcome.committed) return 'resealed'
  if (outcome.conflict === 'tenantGone')
    throw new VaultError('notFound', { detail: 'There is no such tenant any more.' })
  return 'missed'
}
