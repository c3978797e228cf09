import type { TenantKeys } from '../../crypto/keys.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { TokenRow, TransientRow } from '../../store/rows.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/** Undefined if the row does not open. */
export const openRow = (
  row: TokenRow,
  keys: TenantKeys,
  transients: readonly TransientRow[] = [],
): Token | undefined => {
  try {
    return openTokenRow(row, transients, keys)
  } catch (error) {
    if (error instanceof TamperedError) return undefined
    throw error
  }
}

/** The sealed bytes that the tokens of these entries have now. */
export const sealedNow = async (
  vault: Vault,
  { tenantNumber }: UnlockedTenant,
  entries: readonly { tokenId: string }[],
): Promise<Map<string, Uint8Array>> => {
  const ids = [...new Set(entries.map(({ tokenId }) => tokenId))]
  const { rows } = await vault.store.getTokens(tenantNumber, ids)
  return new Map(rows.map(({ id, sealed }) => [id, sealed]))
}

/** Whether a row is unchanged: no two writes seal to the same bytes. Undefined stands for a row that is not there. */
export const isUnchanged = (then: Uint8Array | undefined, now: Uint8Array | undefined): boolean =>
  then === undefined || now === undefined ? then === now : Buffer.compare(then, now) === 0
