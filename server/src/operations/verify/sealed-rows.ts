import type { UnlockedTenant, Vault } from '../vault/vault.ts'

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

/** Whether a row is unchanged. No two writes seal to the same bytes. Undefined stands for a missing row. */
export const isUnchanged = (then: Uint8Array | undefined, now: Uint8Array | undefined): boolean =>
  then === undefined || now === undefined ? then === now : Buffer.compare(then, now) === 0
