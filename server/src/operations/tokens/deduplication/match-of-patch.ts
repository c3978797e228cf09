import { mergePatch } from '../../../domain/json/merge-patch.ts'
import type { JudgedPatch } from '../../../domain/patching/judge-patch.ts'
import { replacesData, type TokenPatch } from '../../../domain/patching/token-patch.ts'
import { Secret } from '../../../domain/secret.ts'
import type { Token } from '../../../domain/tokens/token.ts'
import type { Match } from '../../../store/write-set.ts'
import type { Caller, Vault } from '../../vault/vault.ts'
import type { TokenWrites } from '../token-writes.ts'
import { fingerprintFor, isDeduplicated, matchOf, sameMatch } from './match.ts'
import { claimMatch, findMatch } from './match-holder.ts'

type Change = Pick<JudgedPatch, 'knowsData'> & {
  readonly before: Token
  readonly after: Token
  readonly patch: TokenPatch
}

/**
 * C15: finds another token of which this patch would make a duplicate. If there is none, the patched token claims the match.
 * Tokens that already stood for the same value stay two. One of them had no fingerprint, because the tenant's settings did not
 * ask for any, or was blind. If the answer were the other token, a caller with reveal could not set its mask again (C13). A token
 * made before deduplication was in force has claimed nothing. It does so when its expiry moves: it may have expired by the time
 * of the commit, and an equal token may have been created.
 */
export const findMatchOrClaim = async (
  vault: Vault,
  caller: Caller,
  change: Change,
  writes: TokenWrites,
): Promise<Token | undefined> => {
  const { before, after, patch } = change
  if (!isDeduplicated(caller, after.deduplicate)) return undefined
  const match = matchOf(caller, after)
  if (match === undefined) return undefined
  const isNew = !sameMatch(matchOf(caller, before), match)
  const isExpiryMoved = before.expiry?.at !== after.expiry?.at
  if (!isNew && !isExpiryMoved && patch.deduplicate_token === undefined) return undefined
  if (!isOwnMatch(caller, change)) return undefined
  const { holder, found } = await findMatch(vault, caller, match, after)
  if (found !== undefined && found.id !== after.id)
    return patch.deduplicate_token === undefined && (!isNew || sameMatch(matchAsOfNow(caller, before), match))
      ? undefined
      : found
  if (holder?.id !== after.id) await claimMatch(vault, caller, writes, { match, token: after, holder })
  return undefined
}

/** The match that the token would have if a caller with reveal wrote it again unchanged. */
const matchAsOfNow = (caller: Caller, token: Token): Match | undefined => {
  const fingerprint = fingerprintFor(caller, token)
  return fingerprint === undefined ? undefined : matchOf(caller, { ...token, fingerprint, blind: {} })
}

/**
 * C13: whether a match tells the caller only that its own data, or all of the stored data, exists a second time. If the patch
 * keeps a part of the data, a match would disclose that part: with the salt removed, which of ten thousand PINs it is.
 */
const isOwnMatch = (caller: Caller, { before, after, patch, knowsData }: Change): boolean => {
  if (knowsData || patch.data === undefined || replacesData(patch)) return true
  const alone = new Secret(mergePatch(undefined, patch.data))
  return [alone, before.data].some(data => fingerprintFor(caller, { ...after, data }) === after.fingerprint)
}
