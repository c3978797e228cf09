import { resealToken, sealedByOlderKey } from '../../crypto/data-seal.ts'
import { VaultError } from '../../domain/errors.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { TokenRow } from '../../store/rows.ts'
import { pagesOfAll } from '../tokens/token-pages.ts'
import { type Unreadable, UnreadableRows } from '../tokens/unreadable-rows.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/** `left`: tokens that others changed in each pass before the pass reached them. */
export type Resealed = { readonly resealed: number; readonly left: number } & Unreadable

/** Rows that share a commit. A row may take a megabyte. */
const rowsTogether = 50

/**
 * Two are usual: storage may hold back a write that a server sealed before it heard of the newest key for seconds, but not for
 * hours.
 */
const passesMax = 8

/**
 * Seals every token of an older data key anew with the tenant's newest one, page by page, while servers run. Nothing else about a
 * token changes, not even its version. A write sealed with an older key may wait in storage for a locked row. It may then be made
 * just before this pass reaches its token, or behind the page that the pass has reached. So passes are repeated until no such
 * token is left.
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
