import { requireCovered } from '../domain/access/access-checks.ts'
import { modifiedNow } from '../domain/authorship.ts'
import { type Issue, requireNone, VaultError } from '../domain/errors.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { mergePatch } from '../domain/json/merge-patch.ts'
import { type JudgedPatch, judgePatch, requirePatchable } from '../domain/patching/judge-patch.ts'
import { readPatch, replacesData, type TokenPatch } from '../domain/patching/token-patch.ts'
import { Secret } from '../domain/secret.ts'
import type { Instant } from '../domain/time/instant.ts'
import type { Token } from '../domain/tokens/token.ts'
import { viewToken } from '../domain/tokens/token-view.ts'
import type { Match } from '../store/write-set.ts'
import { claimMatch } from './deduplication/claim-match.ts'
import { findMatch } from './deduplication/find-match.ts'
import { isDeduplicated, matchOf, sameMatch } from './deduplication/match.ts'
import { loadToken } from './tokens/load-token.ts'
import { fingerprintFor } from './tokens/token-fingerprint.ts'
import { TokenWrites } from './tokens/token-writes.ts'
import { viewMatch } from './tokens/view-write.ts'
import type { Caller, Vault } from './vault/vault.ts'
import { commit } from './writing/commit.ts'
import { retryOnConflict } from './writing/retry-on-conflict.ts'

/** §4.5: reads, computes, and writes only if the token has not changed since, so that no patch loses another's fields (C18). */
export const updateToken = async (
  vault: Vault,
  caller: Caller,
  id: string,
  patch: TokenPatch,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const { destinations } = readPatch(patch, vault.clock(), issues)
  requireNone(issues)
  requirePatchable(caller.application, patch, destinations)

  return retryOnConflict(async () => {
    const before = await loadToken(vault, caller, id)
    if (before === undefined) throw new VaultError('notFound')
    requireCovered(caller.application, 'token:update', before)
    const now = vault.clock()
    const judged = judgePatch(caller.application, before, patch, now)
    const after = written(caller, before, judged.patched, patch, now)

    const writes = new TokenWrites(caller)
    const match = await findMatchOrClaim(vault, caller, { before, after, patch, ...judged }, writes)
    if (match === undefined) writes.update(before, after)
    const answer =
      match === undefined
        ? viewToken(after, judged.shown, now)
        : { ...viewMatch(vault, caller, 'token:update', match), _extras: { deduplicated: true } }
    return { outcome: await commit(vault, caller, writes.set, answer), answer }
  })
}

/** The patched token as it is written: with its fingerprint, the next version and its author. */
const written = (caller: Caller, before: Token, patched: Token, patch: TokenPatch, now: Instant): Token => {
  const { fingerprint: _before, ...rest } = patched
  const fingerprint = fingerprintAfter(caller, before, rest, patch)
  return {
    ...rest,
    ...(fingerprint !== undefined && { fingerprint }),
    version: before.version + 1,
    modifiedBy: caller.application.id,
    modifiedAt: modifiedNow(before, now),
  }
}

/** C14: a fingerprint that nothing asks for any more is kept while it still fits the data, unless the patch is about it. */
const fingerprintAfter = (
  caller: Caller,
  { fingerprint }: Token,
  merged: Omit<Token, 'fingerprint'>,
  patch: TokenPatch,
): string | undefined => {
  const made = fingerprintFor(caller, merged)
  if (made !== undefined || fingerprint === undefined) return made
  if (patch.fingerprint_expression !== undefined || patch.deduplicate_token !== undefined) return undefined
  return fingerprintFor(caller, { ...merged, fingerprint }) === fingerprint ? fingerprint : undefined
}

type Change = Pick<JudgedPatch, 'knowsData'> & {
  readonly before: Token
  readonly after: Token
  readonly patch: TokenPatch
}

/**
 * C15: finds another token that this patch would make a duplicate of. If there is none, the patched token claims the match. Tokens
 * that stood for the same value before, without fingerprints, because the tenant's settings did not ask for any, stay two.
 *
 * A token made before deduplication was in force has claimed nothing. It does so when its expiry is moved: it may have expired by
 * the time of the commit, and an equal token been created.
 */
const findMatchOrClaim = async (
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

/** The match that a token would stand for if it were written again as it is. */
const matchAsOfNow = (caller: Caller, token: Token): Match | undefined => {
  const fingerprint = fingerprintFor(caller, token)
  return fingerprint === undefined ? undefined : matchOf(caller, { ...token, fingerprint })
}

/**
 * C13: whether a match tells the caller no more than that its own data, or all of the stored data, exists a second time. After a
 * patch that keeps part of the data, a match would disclose that part: with the salt removed, which of ten thousand PINs it is.
 */
const isOwnMatch = (caller: Caller, { before, after, patch, knowsData }: Change): boolean => {
  if (knowsData || patch.data === undefined || replacesData(patch)) return true
  const alone = new Secret(mergePatch(undefined, patch.data))
  return [alone, before.data].some(data => fingerprintFor(caller, { ...after, data }) === after.fingerprint)
}
