import { contentTerms, matchTag } from '../../domain/tokens/index-terms.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { IndexEntry, IndexedToken, IndexTerm } from '../../store/rows.ts'
import { signatureOf } from '../../store/term-signature.ts'
import type { UnlockedTenant } from '../vault/vault.ts'
import { hashFingerprint, hashTerm } from './hash-terms.ts'
import { categoryOf } from './token-category.ts'

/** Everything that the token is found by, without repetition. */
export const tokenTerms = (
  tenant: UnlockedTenant,
  token: Token,
  category = categoryOf(tenant.keys, token),
): IndexTerm[] => {
  const terms = [...category.terms]
  for (const term of contentTerms(token)) terms.push({ term: hashTerm(tenant, term), tag: null })
  if (token.fingerprint !== undefined) terms.push(hashFingerprint(tenant, token.fingerprint, matchTag(token)))
  return terms
}

/** What each index entry of a token carries, given all of its terms. */
export const indexedToken = (
  { id, createdAt, expiry }: Token,
  terms: readonly IndexTerm[],
): IndexedToken => ({
  tokenId: id,
  createdAt,
  expiresAt: expiry?.at ?? null,
  signature: signatureOf(terms.map(({ term }) => term)),
})

export const entriesOf = (tenant: UnlockedTenant, token: Token): IndexEntry[] => {
  const terms = tokenTerms(tenant, token)
  const carried = indexedToken(token, terms)
  return terms.map(term => ({ ...carried, ...term }))
}
