import type { Issue } from '../errors.ts'
import { checkMetadataNumbers, containsNumber, entryContains } from '../tokens/own-number.ts'
import type { Token } from '../tokens/token.ts'
import type { TokenPatch } from './token-patch.ts'

/**
 * C16: keeps the number out of id and metadata. A number that the patch brings is compared with both, whoever sends it: that tells its
 * sender nothing new. The stored number is compared only with the metadata that the patch brings, and only for a caller who may read
 * it. Anyone else could put thousands of guesses into one patch and learn from the refusal that one of them is right (C13).
 */
export const checkOwnNumbers = (
  patched: Token,
  patch: TokenPatch,
  knowsData: boolean,
  issues: Issue[],
): void => {
  const { id, type, data, metadata = {} } = patched
  const brought = patch.data === undefined ? [] : type.numbers(patch.data)
  const message = (where: string): string => `must not have a number that the ${where} contains`
  if (patched.hasChosenId && containsNumber(id, brought))
    issues.push({ path: 'data', message: message('id') })
  const kept = Object.entries(metadata).filter(
    ([key]) => !patch.metadata || !Object.hasOwn(patch.metadata, key),
  )
  if (kept.some(([key, value]) => entryContains(key, value, brought)))
    issues.push({ path: 'data', message: message('metadata') })
  if (patch.metadata) {
    const numbers = knowsData ? type.numbers(data.expose('keeping the number out of metadata')) : brought
    checkMetadataNumbers(patch.metadata, numbers, 'metadata', issues)
  }
}
