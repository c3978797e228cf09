import { fingerprintExpressionInForce, isBlind, isExpired, type Token } from '../../domain/token.ts'
import type { Match } from '../../store/write-set.ts'
import type { Caller, Vault } from '../vault.ts'
import { openTokens } from './load-token.ts'

/**
 * The oldest living token that stands for the same value (C15). The index proposes, the opened row decides. It may have
 * the id of the token asked about: for a create that is a match like any other, an update must leave itself out.
 */
export const findMatch = async (
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
