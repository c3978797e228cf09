import { isDeepStrictEqual } from 'node:util'
import {
  isMoreRevealing,
  lessRevealing,
  readTransform,
  requireDestinations,
  writeTransform,
  writeTransformIn,
} from '../access/access.ts'
import type { Application, Transform } from '../access/application.ts'
import { gainsUse } from '../access/use.ts'
import { type Issue, requireNone, VaultError } from '../errors.ts'
import { Budget, tooMuchWork } from '../expressions/budget.ts'
import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import type { Instant } from '../time/instant.ts'
import { disclosesProbe } from '../tokens/card-disclosure.ts'
import { countTerms } from '../tokens/index-terms.ts'
import { checkRenderings, type RenderedPart, tooMuchOfACard } from '../tokens/renderings.ts'
import { requireFewTerms } from '../tokens/request-costs.ts'
import { searchIndexesInForce, type Token } from '../tokens/token.ts'
import { blindnessAfter, changesFingerprint, changesMask } from './blindness.ts'
import { checkOwnNumbers } from './own-numbers.ts'
import { checkOwnRenderings } from './own-renderings.ts'
import { steeredParts } from './steering.ts'
import { patchToken, replacesData, type TokenPatch, touchedParts } from './token-patch.ts'

/** The outcome of a patch that this application sends. */
export type JudgedPatch = {
  /** The token after the patch, except for fingerprint, version and author. */
  readonly patched: Token
  /** Whether the caller may read the data, so that nothing about it is news to them (C13). */
  readonly knowsData: boolean
  /** How the answer shows the patched token. */
  readonly shown: Transform
}

/**
 * Applies all that C13 and C18 say about a patch of one token, in the order of C3: 403 for fields that decide who sees
 * how much and for containers, 400 for faults of the merged whole, 403 for a move that would show more. Throws the refusal.
 */
export const judgePatch = (
  application: Application,
  before: Token,
  patch: TokenPatch,
  now: Instant,
): JudgedPatch => {
  const read = readTransform(application, before.containers)
  const knowsData = read === 'reveal'
  const steered = knowsData ? [] : steeredParts(before, patch)
  const issues: Issue[] = []
  const merged = patchToken(before, patch, now, issues)
  if (read !== undefined && !knowsData) requireUnguarded(before, merged, patch, steered)
  // Once more: null names no container, but moves the token to that of its type.
  if (patch.containers !== undefined) requireDestinations(application, 'token:update', merged.containers)
  const terms = countTerms(merged)
  if (terms > countTerms(before)) requireFewTerms(terms)
  if (issues.length === 0) {
    checkOwnNumbers(merged, patch, knowsData, issues)
    tryRenderings(before, merged, patch, knowsData, issues)
  }
  requireNone(issues)

  const patched = { ...merged, blind: blindnessAfter(before, merged, patch, { knowsData, steered }) }
  if (patch.containers !== undefined) requireMove(application, before, patched)
  return { patched, knowsData, shown: shownAfter(application, before, patched, patch) }
}

/** C28: the fields that a public application may change. Its keys leave the server. */
const publicFields: readonly (keyof TokenPatch)[] = ['data', 'metadata', 'expires_at']

/** Refuses what can be refused before the token is read: fields, and containers that the patch names. */
export const requirePatchable = (
  application: Application,
  patch: TokenPatch,
  containers: readonly string[],
): void => {
  const isPublic = application.type === 'public'
  if (isPublic && (Object.keys(patch) as (keyof TokenPatch)[]).some(name => !publicFields.includes(name)))
    throw new VaultError('forbidden', {
      detail: 'A public application may change only data, metadata and expires_at.',
    })
  requireDestinations(application, 'token:update', containers)
}

/**
 * C13: a caller who reads a token under `mask` or `redact` cannot change what that shows, to whom, and how it is found. Sending
 * what is in force, which it sees, is no change.
 */
const requireUnguarded = (
  before: Token,
  merged: Token,
  patch: TokenPatch,
  steered: readonly RenderedPart[],
): void => {
  if (
    changesMask(before, merged) ||
    changesFingerprint(before, merged, patch) ||
    // The same expression, but nobody asks for it any more: with it goes the fingerprint, if the tenant does not want one.
    (before.fingerprintExpression !== undefined && merged.fingerprintExpression === undefined) ||
    !isDeepStrictEqual(searchIndexesInForce(before), searchIndexesInForce(merged)) ||
    !isDeepStrictEqual(new Set(before.containers), new Set(merged.containers))
  )
    throw new VaultError('forbidden', {
      detail:
        'Changing mask, fingerprint_expression, search_indexes or containers needs reveal on the token, and so does deduplicate_token if the token has no fingerprint.',
    })
  if (steered.length > 0)
    throw new VaultError('forbidden', {
      detail: 'An expression of the token combines this with hidden data; changing it needs reveal.',
    })
}

/** A caller who does not know the data is told of no fault that depends on it. */
const tryRenderings = (
  before: Token,
  merged: Token,
  patch: TokenPatch,
  knowsData: boolean,
  issues: Issue[],
): void => {
  if (knowsData) checkRenderings(merged, '', issues, touchedParts(patch, before))
  else if (patch.mask && merged.mask.from === 'caller') tryOnProbe(merged.mask.template, before, issues)
  if (!knowsData && issues.length === 0) checkOwnRenderings(before, merged, patch, issues)
}

/** What can be said of a mask without the token's own card number. */
const tryOnProbe = (mask: Json, { type }: Token, issues: Issue[]): void => {
  const budget = new Budget(limits.expressionSteps)
  if (disclosesProbe(mask, type, budget))
    issues.push({ path: 'mask', message: budget.isSpent ? tooMuchWork : tooMuchOfACard })
}

/** C13: a caller who moves a token sees no more of it afterwards than before, by reading it or in answers to writes, nor uses it for more. */
const requireMove = (application: Application, before: Token, after: Token): void => {
  const [read, readBefore] = [after, before].map(({ containers }) => readTransform(application, containers))
  const [shown, shownBefore] = [after, before].map(({ containers }) =>
    writeTransformIn(application, 'token:update', containers),
  )
  if (
    isMoreRevealing(read, readBefore) ||
    (isMoreRevealing(shown, shownBefore) && isMoreRevealing(shown, readBefore))
  )
    throw new VaultError('forbidden', {
      detail: 'A move to these containers would show the caller more of the token than before.',
    })
  if (gainsUse(application, before.containers, after.containers))
    throw new VaultError('forbidden', {
      detail: 'A move to these containers would let the caller use the token where it could not before.',
    })
}

/**
 * Data that the caller has just sent whole is no secret to them, whatever mask they chose (§2.1.22). A token that was
 * moved shows no more than it did before (C13).
 */
const shownAfter = (application: Application, before: Token, after: Token, patch: TokenPatch): Transform => {
  const shown = replacesData(patch)
    ? writeTransformIn(application, 'token:update', after.containers)
    : writeTransform(application, 'token:update', after)
  return lessRevealing(shown, writeTransformIn(application, 'token:update', before.containers))
}
