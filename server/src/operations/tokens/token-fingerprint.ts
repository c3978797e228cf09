import { fingerprintOf } from '../../crypto/keyed-hashes.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { renderFingerprint } from '../../domain/tokens/hash-inputs.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { Caller } from '../vault/vault.ts'
import { isDeduplicated } from './deduplication/match.ts'

type Fingerprintable = Pick<
  Token,
  'data' | 'metadata' | 'type' | 'fingerprintExpression' | 'deduplicate' | 'fingerprint'
>

/** C14: the fingerprint that a write gives the token, or undefined if none is in force or none can be rendered. */
export const fingerprintFor = (caller: Caller, token: Fingerprintable): string | undefined => {
  const inForce =
    token.fingerprint !== undefined ||
    token.fingerprintExpression !== undefined ||
    caller.tenant.settings.fingerprintTokens ||
    isDeduplicated(caller, token.deduplicate)
  if (!inForce) return undefined
  try {
    const rendered = renderFingerprint(token)
    return rendered && fingerprintOf(caller.keys, token.type.name, rendered)
  } catch (error) {
    // Callers who know the data were told when the expression was checked. Others must not learn of the failure (C13).
    if (error instanceof ExpressionError) return undefined
    throw error
  }
}
