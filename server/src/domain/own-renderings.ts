import type { Issue } from './errors.ts'
import { compileExpression } from './expressions/expression.ts'
import type { Use } from './expressions/run.ts'
import { maskTexts } from './mask.ts'
import { checkRenderings, type RenderedPart } from './renderings.ts'
import { Secret } from './secret.ts'
import type { Token, Writable } from './token.ts'
import { replacesData, type TokenPatch } from './token-patch.ts'
import { token as untyped } from './token-types/token.ts'

/**
 * Tries the expressions of a patch for a caller who cannot read the token, as far as the outcome tells nothing about
 * its data (C13): all of them where the patch replaces the data, otherwise those that read no data. (`{{ nil }}` is no
 * fingerprint, whatever the data.) Metadata is no secret.
 */
export const checkOwnRenderings = (patched: Token, patch: TokenPatch, issues: Issue[]): void => {
  const bringsData = replacesData(patch)
  const isOwn = (text: string, use: Use): boolean =>
    bringsData || compileExpression(text, use).paths.every(([root]) => root !== 'data')

  // Otherwise the stored data is kept out: even a mask of plain digits would be compared with the card number, and a
  // refusal would tell which digits are right.
  const own: Writable<Token> = { ...patched, ...(!bringsData && { type: untyped, data: new Secret(null) }) }
  const parts: RenderedPart[] = []
  if (patch.mask !== undefined) {
    parts.push('mask')
    own.mask = { from: 'caller', template: maskTexts(patch.mask).filter(text => isOwn(text, 'mask')) }
  }
  if (patch.search_indexes) {
    parts.push('search_indexes')
    // Those that are not tried become empty texts, so that the others keep their index in the issues.
    own.searchIndexes = patch.search_indexes.map(text => (isOwn(text, 'index') ? text : ''))
  }
  const expression = patch.fingerprint_expression
  if (typeof expression === 'string' && isOwn(expression, 'fingerprint')) parts.push('fingerprint_expression')
  checkRenderings(own, '', issues, parts)
}
