import { isDeepStrictEqual } from 'node:util'
import { disclosesCard } from './card-disclosure.ts'
import type { RenderedPart } from './renderings.ts'
import { steeredParts } from './steering.ts'
import { type Blindness, fingerprintExpressionInForce, maskInForce, type Token } from './token.ts'
import type { TokenPatch } from './token-patch.ts'

/**
 * C13: a mask or fingerprint expression changed or steered by a caller who cannot read the token is blind until
 * someone with reveal sets it. (Set to what it was, it is not changed.) Such a caller gets no error that depends on the
 * data, so a mask that would show too much of the card is kept but renders nothing.
 */
export const blindnessAfter = (
  before: Token,
  merged: Token,
  patch: TokenPatch,
  knowsData: boolean,
): Blindness => {
  const steered = knowsData ? [] : steeredParts(before, patch)
  const isBlindNow = (part: RenderedPart, wasBlind: boolean, isChanged: boolean): boolean =>
    knowsData ? wasBlind && patch[part] === undefined : wasBlind || steered.includes(part) || isChanged
  const maskIsBlind = isBlindNow(
    'mask',
    before.blind.mask === true,
    !isDeepStrictEqual(maskInForce(before), maskInForce(merged)),
  )
  const fingerprintIsBlind = isBlindNow(
    'fingerprint_expression',
    before.blind.fingerprint === true,
    fingerprintExpressionInForce(before) !== fingerprintExpressionInForce(merged) ||
      (typeof patch.fingerprint_expression === 'string' && before.fingerprint === undefined),
  )
  const withheld =
    merged.mask.from === 'caller' &&
    (maskIsBlind || !knowsData) &&
    disclosesCard(merged.mask.template, merged.type, merged.data.expose('judging a mask'))
  return {
    ...(maskIsBlind && { mask: true }),
    ...(withheld && { maskWithheld: true }),
    ...(fingerprintIsBlind && { fingerprint: true }),
  }
}
