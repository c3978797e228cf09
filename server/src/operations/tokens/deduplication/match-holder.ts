import { TamperedError } from '../../../domain/tampered-error.ts'
import { fingerprintExpressionInForce, isBlind, isExpired, type Token } from '../../../domain/tokens/token.ts'
import type { Match } from '../../../store/write-set.ts'
import type { Caller, Vault } from '../../vault/vault.ts'
import { openTokens } from '../load-token.ts'
import { removeExpired } from '../remove-expired.ts'
import type { TokenWrites } from '../token-writes.ts'

/** What a write with deduplication (C15) must know. */
export type FoundMatch = {
  /**
   * The oldest living token that stands for the same value. It may be the token asked about, if that exists: to a create it is a
   * match like any other, but an update must ignore itself.
   */
  readonly found: Token | undefined
  /** The token that holds the match, living or not. A new claim replaces it. */
  readonly holder: Holder | undefined
}

export type Holder = {
  readonly id: string
  /** What its row held before the search for a living token. Null if it had no row. */
  readonly sealed: Uint8Array | null
}

/** Reads the holder first. A later claim makes our commit fail, and the search finds an earlier one. */
export const findMatch = async (
  vault: Vault,
  caller: Caller,
  match: Match,
  token: Token,
): Promise<FoundMatch> => {
  const holder = await findHolder(vault, caller, match)
  return { holder, found: await oldestSame(vault, caller, match, token) }
}

/** A holder is deleted together with its claim. If several reads find no row for it, nobody will release its claim. */
const looksAtHolder = 3

/** Reads its row too: a holder that is gone during the search may be back, under the same id, at the commit. */
const findHolder = async (
  { store }: Vault,
  { tenantNumber }: Caller,
  match: Match,
): Promise<Holder | undefined> => {
  for (let looks = 1; ; looks++) {
    const id = await store.findMatchHolder(tenantNumber, match)
    if (id === undefined) return undefined
    const row = await store.getToken(tenantNumber, id)
    if (row !== undefined || looks === looksAtHolder) return { id, sealed: row?.sealed ?? null }
  }
}

/** The index proposes, and the opened row decides. */
const oldestSame = async (
  vault: Vault,
  caller: Caller,
  match: Match,
  token: Token,
): Promise<Token | undefined> => {
  const row = await vault.store.findOldestMatch(caller.tenantNumber, match, vault.clock())
  if (row === undefined) return undefined
  const [found] = await openTokens(vault, caller, [row])
  return found !== undefined && isSame(found, token) && !isExpired(found, vault.clock()) ? found : undefined
}

const isSame = (a: Token, b: Token): boolean =>
  !isBlind(a) &&
  a.fingerprint === b.fingerprint &&
  fingerprintExpressionInForce(a) === fingerprintExpressionInForce(b) &&
  a.containers.length === b.containers.length &&
  a.containers.every(container => b.containers.includes(container))

/**
 * Makes the token the holder of the match if the previous holder is unchanged. An expired holder is removed in the same write
 * set. So a patch that was admitted earlier and would keep it alive either fails or makes the claim fail (C15, C17).
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
