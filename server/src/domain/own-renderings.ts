import type { Issue } from './errors.ts'
import { compileExpression } from './expressions/expression.ts'
import type { Use } from './expressions/run.ts'
import type { Json } from './json.ts'
import { mapMask } from './mask.ts'
import { checkRenderings } from './renderings.ts'
import { Secret } from './secret.ts'
import { searchIndexesInForce, type Token, type Writable } from './token.ts'
import { replacesData, type TokenPatch, touchedParts } from './token-patch.ts'
import { token as untyped } from './token-types/token.ts'

/**
 * What whoever cannot read a token may be told about the expressions that its patch gives something new to render (C13):
 * what they render of data that the patch itself brings, or where they read none. `{{ nil }}` is no fingerprint for any
 * data, and `{{ metadata.a }}` is none once `a` is gone. Metadata is no secret.
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

  // Otherwise the stored data stays out: comparing a literal mask with the stored number would reveal its digits.
  const own: Writable<Token> = {
    ...patched,
    ...(!bringsData && { type: untyped, data: new Secret<Json>(null) }),
  }
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
