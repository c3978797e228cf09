import { requireCovered, writeDecision } from '../../domain/access/access.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import { type Issue, requireNone, VaultError } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { judgePatch, requirePatchable } from '../../domain/patching/judge-patch.ts'
import { readPatch, type TokenPatch } from '../../domain/patching/token-patch.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { retryOnConflict, tokenName } from '../writing/retry-on-conflict.ts'
import { fingerprintFor } from './deduplication/match.ts'
import { findMatchOrClaim } from './deduplication/match-of-patch.ts'
import { indexTermsOf } from './index-entries.ts'
import { loadToken } from './load-token.ts'
import { showToken, viewMatch } from './show-token.ts'
import { TokenWrites } from './token-writes.ts'

/** §4.5: reads, computes, and writes only if the token has not changed since, so that no patch loses another's fields (C18). */
export const updateToken = async (
  vault: Vault,
  caller: Caller,
  id: string,
  patch: TokenPatch,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const { destinations } = readPatch(patch, vault.clock(), issues)
  requireNone(issues)
  requirePatchable(caller.application, patch, destinations)

  return retryOnConflict(vault, tokenName(caller, id), async () => {
    const before = await loadToken(vault, caller, id)
    if (before === undefined) throw new VaultError('notFound')
    caller.act.says({ fields: fieldsOf(patch) })
    requireCovered(caller.application, 'token:update', before)
    const now = vault.clock()
    const judged = judgePatch(caller.application, before, patch, now)
    const after = written(caller, before, judged.patched, patch, now)

    const writes = new TokenWrites(caller)
    const match = await findMatchOrClaim(vault, caller, { before, after, patch, ...judged }, writes)
    if (match === undefined) writes.update(before, after)
    const shown = match ?? after
    const decision = writeDecision(caller.application, 'token:update', shown)
    caller.act.touches(shown, 'token:update', decision, match !== undefined)
    const answer =
      match === undefined
        ? showToken(vault, after, judged.shown, now)
        : { ...viewMatch(vault, caller, 'token:update', match), _extras: { deduplicated: true } }
    return { outcome: await commit(vault, caller, writes.changes, answer, idempotent), answer }
  })
}

/** The names of what is patched; the keys of metadata are the caller's own, and not among them. */
const fieldsOf = (patch: TokenPatch): string[] =>
  Object.entries(patch).map(([name, value]) => (name === 'metadata' && value !== null ? 'metadata.*' : name))

/** The patched token as it is written: with its fingerprint, the next version and its author. */
const written = (caller: Caller, before: Token, patched: Token, patch: TokenPatch, now: Instant): Token => {
  const { fingerprint: _before, ...rest } = patched
  const fingerprint = fingerprintAfter(caller, before, rest, patch)
  const isIndexMoved = patch.data !== undefined || patch.search_indexes !== undefined
  return {
    ...rest,
    ...(fingerprint !== undefined && { fingerprint }),
    indexTerms: isIndexMoved ? indexTermsOf(caller, rest) : before.indexTerms,
    version: before.version + 1,
    modifiedBy: caller.application.id,
    modifiedAt: modifiedNow(before, now),
  }
}

/** C14: a fingerprint that nothing asks for any more stays while it fits the data, unless the patch is about it. */
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
