import { isDeepStrictEqual } from 'node:util'
import { Budget } from '../expressions/budget.ts'
import { mergePatch } from '../json/merge-patch.ts'
import { limits } from '../limits.ts'
import { disclosesCard } from '../tokens/card-disclosure.ts'
import type { RenderedPart } from '../tokens/renderings.ts'
import { type Blindness, fingerprintExpressionInForce, maskInForce, type Token } from '../tokens/token.ts'
import { replacesData, type TokenPatch } from './token-patch.ts'

/**
 * C13: a mask or fingerprint expression that a caller who cannot read the token changes or steers is blind until
 * someone with reveal sets it. (Setting it to its current value is no change.) Such a caller gets no error that depends
 * on the data, so a mask that would show too much of the card is kept but renders nothing.
 */
export const blindnessAfter = (
  before: Token,
  merged: Token,
  patch: TokenPatch,
  { knowsData, steered }: { readonly knowsData: boolean; readonly steered: readonly RenderedPart[] },
): Blindness => {
  const isBlindNow = (part: RenderedPart, wasBlind: boolean, isChanged: boolean): boolean =>
    knowsData ? wasBlind && !setsWhole(part, patch, merged) : wasBlind || steered.includes(part) || isChanged
  const maskIsBlind = isBlindNow('mask', before.blind.mask === true, changesMask(before, merged))
  const fingerprintIsBlind = isBlindNow(
    'fingerprint_expression',
    before.blind.fingerprint === true,
    changesFingerprint(before, merged, patch),
  )
  // Only data and mask decide what a mask shows, so a patch of neither leaves the judgement as it is, whoever sends it.
  const isAsBefore = patch.data === undefined && patch.mask === undefined
  const withheld = isAsBefore
    ? before.blind.maskWithheld === true
    : (maskIsBlind || !knowsData) && disclosesTooMuch(merged, knowsData)
  return {
    ...(maskIsBlind && { mask: true }),
    ...(withheld && { maskWithheld: true }),
    ...(fingerprintIsBlind && { fingerprint: true }),
  }
}

/** A mask whose judging takes too long counts as showing too much. */
const disclosesTooMuch = ({ mask, type, data }: Token, knowsData: boolean): boolean => {
  if (mask.from !== 'caller') return false
  const budget = new Budget(knowsData ? limits.expressionSteps : limits.blindMaskSteps)
  return disclosesCard(mask.template, type, data.expose('judging a mask'), budget)
}

export const changesMask = (before: Token, merged: Token): boolean =>
  !isDeepStrictEqual(maskInForce(before), maskInForce(merged))

/** An expression that is given, or a wish for deduplication, makes a fingerprint where there was none (C14). */
export const changesFingerprint = (before: Token, merged: Token, patch: TokenPatch): boolean =>
  fingerprintExpressionInForce(before) !== fingerprintExpressionInForce(merged) ||
  (before.fingerprint === undefined &&
    (typeof patch.fingerprint_expression === 'string' ||
      (patch.deduplicate_token === true && !replacesData(patch))))

const setsWhole = (part: RenderedPart, patch: TokenPatch, merged: Token): boolean =>
  part === 'mask' ? setsWholeMask(patch, merged) : patch[part] !== undefined

/** A mask is merged, so leaves that another caller set blindly may remain in it. */
const setsWholeMask = ({ mask: set }: TokenPatch, { mask }: Token): boolean =>
  set !== undefined &&
  (mask.from !== 'caller' || isDeepStrictEqual(mergePatch(undefined, set), mask.template))
