import { blindnessAfter } from '../domain/blindness.ts'
import { disclosesProbe } from '../domain/card-disclosure.ts'
import { parseContainers } from '../domain/containers.ts'
import { type Issue, invalid, VaultError } from '../domain/errors.ts'
import type { JsonObject } from '../domain/json.ts'
import { mergePatch } from '../domain/merge-patch.ts'
import { checkOwnRenderings } from '../domain/own-renderings.ts'
import { checkRenderings, tooMuchOfACard } from '../domain/renderings.ts'
import { Secret } from '../domain/secret.ts'
import type { Token } from '../domain/token.ts'
import { checkPatch, patchToken, replacesData, type TokenPatch, touchedParts } from '../domain/token-patch.ts'
import {
  readTransform,
  requireCovered,
  requireDestinations,
  requireGuardedFields,
  requireNoBetterLook,
  requirePublicFields,
} from './tokens/access-checks.ts'
import { findMatch } from './tokens/find-match.ts'
import { matchOf, sameMatch } from './tokens/index-entries.ts'
import { loadToken } from './tokens/load-token.ts'
import { fingerprintFor, isDeduplicated } from './tokens/token-fingerprint.ts'
import { TokenWrites } from './tokens/token-writes.ts'
import { viewMatch, viewUpdated } from './tokens/view-write.ts'
import type { Caller, Vault } from './vault.ts'
import { retryOnConflict } from './writing/retry-on-conflict.ts'

/** §4.5: read, compute, write if nobody else did; so no two patches lose each other's fields (C18). */
export const updateToken = async (
  vault: Vault,
  caller: Caller,
  id: string,
  patch: TokenPatch,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  checkPatch(patch, vault.clock(), issues)
  if (issues.length > 0) throw invalid(...issues)
  requirePublicFields(caller, patch)
  if (patch.containers)
    requireDestinations(caller, 'token:update', parseContainers(patch.containers, 'containers', issues))

  return retryOnConflict(async () => {
    const before = await loadToken(vault, caller, id)
    if (before === undefined) throw new VaultError('notFound')
    requireCovered(caller, 'token:update', before)
    requireGuardedFields(caller, before, patch)
    const after = patched(vault, caller, before, patch)
    if (patch.containers !== undefined) {
      requireDestinations(caller, 'token:update', after.containers)
      requireNoBetterLook(caller, before, after)
    }

    const writes = new TokenWrites(caller)
    const match = await findMatchOrClaim(vault, caller, before, after, patch, writes)
    if (match === undefined) writes.update(before, after)
    const answer =
      match === undefined
        ? viewUpdated(vault, caller, before, after, patch)
        : { ...viewMatch(vault, caller, 'token:update', match), _extras: { deduplicated: true } }
    return { outcome: await caller.commit(writes.set, answer), answer }
  })
}

/** The token after the patch, with its fingerprint and its blindness; throws where the whole would not be valid. */
const patched = (vault: Vault, caller: Caller, before: Token, patch: TokenPatch): Token => {
  const now = vault.clock()
  const issues: Issue[] = []
  const knowsData = readTransform(caller, before.containers) === 'reveal'
  const merged = patchToken(before, patch, now, issues)
  if (issues.length === 0) {
    if (knowsData) checkRenderings(merged, '', issues, touchedParts(patch, before))
    else if (patch.mask && merged.mask.from === 'caller' && disclosesProbe(merged.mask.template, before.type))
      issues.push({ path: 'mask', message: tooMuchOfACard })
    else checkOwnRenderings(before, merged, patch, issues)
  }
  if (issues.length > 0) throw invalid(...issues)

  const { fingerprint: _before, ...rest } = merged
  const fingerprint = fingerprintAfter(caller, before, rest, patch)
  return {
    ...rest,
    ...(fingerprint !== undefined && { fingerprint }),
    blind: blindnessAfter(before, merged, patch, knowsData),
    version: before.version + 1,
    modifiedBy: caller.application.id,
    modifiedAt: now,
  }
}

/** C14: one for which there is no reason any longer stays with the data that it stands for, but for patches about it. */
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

/** C15: another token that the patched one would duplicate; where there is none, the patched one claims the match. */
const findMatchOrClaim = async (
  vault: Vault,
  caller: Caller,
  before: Token,
  after: Token,
  patch: TokenPatch,
  writes: TokenWrites,
): Promise<Token | undefined> => {
  if (!isDeduplicated(caller, after.deduplicate)) return undefined
  const match = matchOf(caller, after)
  if (match === undefined) return undefined
  const isNew = !sameMatch(matchOf(caller, before), match)
  if (!isNew && patch.deduplicate_token === undefined) return undefined
  if (!isOwnMatch(caller, before, after, patch)) return undefined
  const { holder, found } = await findMatch(vault, caller, match, after)
  if (found !== undefined && found.id !== after.id) return found
  if (holder !== after.id) writes.claimMatch(match, after, holder)
  return undefined
}

/**
 * C13: whether a match tells the caller no more than that its own data, or all that was stored, is there a second time. Of a
 * patch that leaves some of the data it would tell what is left: with the salt removed, which of ten thousand PINs it is.
 */
const isOwnMatch = (caller: Caller, before: Token, after: Token, patch: TokenPatch): boolean => {
  if (patch.data === undefined || replacesData(patch)) return true
  if (readTransform(caller, before.containers) === 'reveal') return true
  const alone = new Secret(mergePatch(undefined, patch.data))
  return [alone, before.data].some(data => fingerprintFor(caller, { ...after, data }) === after.fingerprint)
}
