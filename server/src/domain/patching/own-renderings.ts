import type { Issue } from '../errors.ts'
import type { Use } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import type { Json } from '../json/json.ts'
import { Secret } from '../secret.ts'
import { mapMask } from '../tokens/field-checks.ts'
import { checkRenderings } from '../tokens/renderings.ts'
import { searchIndexesInForce, type Token, type Writable } from '../tokens/token.ts'
import { token as untyped } from '../tokens/types/token.ts'
import type { TokenType } from '../tokens/types/token-type.ts'
import { replacesData, type TokenPatch, touchedParts } from './token-patch.ts'

/**
 * Tries the expressions that a patch gives something new to render, for a caller who cannot read the token, as far as
 * the outcome tells nothing about its data (C13): all of them if the patch replaces the data, otherwise those that read
 * no data. (`{{ nil }}` is no fingerprint, whatever the data, and `{{ metadata.a }}` is none once `a` is gone. A mask
 * of plain digits may be the card number that the patch brings.) Metadata is no secret.
 */
export const checkOwnRenderings = (
  before: Token,
  patched: Token,
  patch: TokenPatch,
  issues: Issue[],
): void => {
  const bringsData = replacesData(patch)
  const isOwn = (text: string, use: Use): boolean =>
    bringsData || compileExpression(text, use).paths.every(([root]) => root !== 'data')
  const nothing = ''

  // Unless the patch brings all of the data, the stored data is kept out: even a mask of plain digits would be compared
  // with the card number, and a refusal would tell which digits are right.
  const own: Writable<Token> = { ...patched, ...(!bringsData && broughtData(patched.type, patch)) }
  // Expressions that are not tried become empty texts, so that the others keep their places in the issues.
  if (patched.mask.from === 'caller') {
    const template = mapMask(patched.mask.template, text => (isOwn(text, 'mask') ? text : nothing))
    own.mask = { from: 'caller', template }
  }
  own.searchIndexes = searchIndexesInForce(patched).map(text => (isOwn(text, 'index') ? text : nothing))
  const { fingerprintExpression } = patched
  if (fingerprintExpression !== undefined && !isOwn(fingerprintExpression, 'fingerprint'))
    delete own.fingerprintExpression
  checkRenderings(own, '', issues, touchedParts(patch, before))
}

/** For a patch that keeps some of the data: the card number that it brings, if any, and nothing of what was stored. */
const broughtData = (type: TokenType, { data = null }: TokenPatch): Pick<Token, 'type' | 'data'> => {
  const number = type.cardNumber?.read(data)
  return type.cardNumber === undefined || number === undefined
    ? { type: untyped, data: new Secret<Json>(null) }
    : { type, data: new Secret(type.cardNumber.replace(null, number)) }
}
