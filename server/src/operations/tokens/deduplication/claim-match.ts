import { TamperedError } from '../../../domain/tampered-error.ts'
import type { Token } from '../../../domain/tokens/token.ts'
import type { Match } from '../../../store/write-set.ts'
import type { Caller, Vault } from '../../vault/vault.ts'
import { removeExpired } from '../remove-expired.ts'
import type { TokenWrites } from '../token-writes.ts'
import type { Holder } from './find-match.ts'

/**
 * Makes the token the holder of the match, if the one before is still what it was. A holder that has expired is removed in
 * the same write set, so that a patch that was admitted earlier and would keep it alive either fails or makes the claim fail
 * (C15, C17).
 */
export const claimMatch = async (
  vault: Vault,
  caller: Caller,
  writes: TokenWrites,
  { match, token, holder }: { match: Match; token: Token; holder: Holder | undefined },
): Promise<void> => {
  if (holder !== undefined) {
    writes.expect(holder.id, holder.sealed)
    await removeExpired(vault, caller, writes, holder.id).catch(unlessTampered)
  }
  writes.claimMatch(match, token, holder?.id)
}

/** A holder that does not open cannot be removed, and is no match either. */
const unlessTampered = (error: unknown): void => {
  if (!(error instanceof TamperedError)) throw error
}
