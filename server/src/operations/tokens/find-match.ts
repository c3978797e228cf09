import { fingerprintExpressionInForce, isBlind, isExpired, type Token } from '../../domain/tokens/token.ts'
import type { Match } from '../../store/write-set.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { openTokens } from './load-token.ts'

/** What a write under deduplication (C15) must know. */
export type FoundMatch = {
  /**
   * The oldest living token that stands for the same value. It may have the id of the token asked about: to a create that is a
   * match like any other, but an update must ignore itself.
   */
  readonly found: Token | undefined
  /** The token that holds the match, living or not: a new claim replaces this one. */
  readonly holder: Holder | undefined
}

export type Holder = {
  readonly id: string
  /** What its row held before the search for a living token; null if it had none. */
  readonly sealed: Uint8Array | null
}

/**
 * Reads the holder first: a claim made later makes our commit fail, and one made earlier is found by the search. The holder's row
 * is read in between, because a holder that was gone during the search may be back, under the same id, at the commit.
 */
export const findMatch = async (
  vault: Vault,
  caller: Caller,
  match: Match,
  token: Token,
): Promise<FoundMatch> => {
  const { store } = vault
  const id = await store.matchHolder(caller.tenantNumber, match)
  const row = id === undefined ? undefined : await store.getToken(caller.tenantNumber, id)
  const holder = id === undefined ? undefined : { id, sealed: row?.sealed ?? null }
  return { holder, found: await oldestSame(vault, caller, match, token) }
}

/** The index proposes, the opened row decides. */
const oldestSame = async (
  vault: Vault,
  caller: Caller,
  match: Match,
  token: Token,
): Promise<Token | undefined> => {
  const row = await vault.store.oldestMatch(caller.tenantNumber, match, vault.clock())
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
