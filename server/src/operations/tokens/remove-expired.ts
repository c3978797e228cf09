import type { Caller, Vault } from '../vault/vault.ts'
import { requireSameId } from './load-token.ts'
import { openTokenRow } from './token-rows.ts'
import type { TokenWrites } from './token-writes.ts'

/** Removes the token with this id if it has expired. */
export const removeExpired = async (
  vault: Vault,
  caller: Caller,
  writes: TokenWrites,
  id: string,
): Promise<'absent' | 'living' | 'removed'> => {
  const row = await vault.store.getToken(caller.tenantNumber, id)
  if (row === undefined) return 'absent'
  if (row.expiresAt === null || row.expiresAt > vault.clock()) return 'living'
  requireSameId(row, id, caller)
  const token = openTokenRow(row, [], caller.keys)
  await vault.activity.settle(caller.tenantNumber, id)
  writes.purge(token)
  return 'removed'
}
