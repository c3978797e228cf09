import { fingerprintOf } from '../../../crypto/keyed-hashes.ts'
import { ExpressionError } from '../../../domain/expressions/expression-error.ts'
import { renderFingerprint } from '../../../domain/tokens/hash-inputs.ts'
import { matchTag } from '../../../domain/tokens/index-terms.ts'
import type { Token } from '../../../domain/tokens/token.ts'
import type { Match } from '../../../store/write-set.ts'
import type { Caller, UnlockedTenant } from '../../vault/vault.ts'
import { hashFingerprint } from '../hash-terms.ts'

/** C15: for public applications, whose keys leave the server, only the tenant's setting counts. */
export const isDeduplicated = ({ application, tenant }: Caller, flag: boolean | undefined): boolean =>
  application.type === 'public'
    ? tenant.settings.deduplicateTokens
    : (flag ?? tenant.settings.deduplicateTokens)

type Fingerprintable = Pick<
  Token,
  'data' | 'metadata' | 'type' | 'fingerprintExpression' | 'deduplicate' | 'fingerprint'
>

/** C14: the fingerprint that a write gives the token. Undefined if none is in force or none can be rendered. */
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
    // Callers who know the data learned of the failure when the expression was checked. Others must not (C13).
    if (error instanceof ExpressionError) return undefined
    throw error
  }
}

/** The match that equal tokens share (C15). Undefined for a token without deduplication. */
export const matchOf = (tenant: UnlockedTenant, token: Token): Match | undefined => {
  const tagText = matchTag(token)
  if (token.fingerprint === undefined || tagText === undefined) return undefined
  const { term, tag } = hashFingerprint(tenant, token.fingerprint, tagText)
  return tag === null ? undefined : { term, tag }
}

export const sameMatch = (a: Match | undefined, b: Match | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  Buffer.compare(a.term, b.term) === 0 &&
  Buffer.compare(a.tag, b.tag) === 0

/** A name that only equal matches share. */
export const matchName = ({ term, tag }: Match): string => Buffer.concat([term, tag]).toString('base64')
