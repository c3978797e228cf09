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
 * What whoever cannot read a token may be told about the expressions of its patch (C13): what they render of data that
 * the patch itself brings, or where they read none. `{{ nil }}` is no fingerprint for any data. Metadata is no secret.
 */
export const checkOwnRenderings = (patched: Token, patch: TokenPatch, issues: Issue[]): void => {
  const bringsData = replacesData(patch)
  const isOwn = (text: string, use: Use): boolean =>
    bringsData || compileExpression(text, use).paths.every(([root]) => root !== 'data')

  // Else nothing of the data comes near: a literal mask would be held against the number, and tell its digits.
  const own: Writable<Token> = { ...patched, ...(!bringsData && { type: untyped, data: new Secret(null) }) }
  const parts: RenderedPart[] = []
  if (patch.mask !== undefined) {
    parts.push('mask')
    own.mask = { from: 'caller', template: maskTexts(patch.mask).filter(text => isOwn(text, 'mask')) }
  }
  if (patch.search_indexes) {
    parts.push('search_indexes')
    // Each keeps its place.
    own.searchIndexes = patch.search_indexes.map(text => (isOwn(text, 'index') ? text : ''))
  }
  const expression = patch.fingerprint_expression
  if (typeof expression === 'string' && isOwn(expression, 'fingerprint')) parts.push('fingerprint_expression')
  checkRenderings(own, '', issues, parts)
}
