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
  /** The id of the token that holds the match, living or not: a new claim replaces this one. */
  readonly holder: string | undefined
}

/** Reads the holder first: a claim made later makes our commit fail, and one made earlier is found by the second read. */
export const findMatch = async (
  vault: Vault,
  caller: Caller,
  match: Match,
  token: Token,
): Promise<FoundMatch> => {
  const holder = await vault.store.matchHolder(caller.tenantNumber, match)
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
