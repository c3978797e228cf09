import { fingerprintHash, indexHash } from '../../crypto/index-hash.ts'
import { contentTerms, indexedAs, matchTag, type Term } from '../../domain/tokens/index-terms.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { IndexEntry, IndexedToken, IndexTerm } from '../../store/rows.ts'
import { signatureOf } from '../../store/term-signature.ts'
import type { UnlockedTenant } from '../vault/vault.ts'
import { categoryOf } from './token-category.ts'

/** A term as storage knows it. */
export const hashTerm = ({ keys }: UnlockedTenant, { field, value }: Term): Buffer =>
  indexHash(keys, field, value)

/** The terms, as storage knows them, of which a token must have one to have one of these. */
export const hashGroup = (tenant: UnlockedTenant, terms: readonly Term[]): Buffer[] => {
  // Each once: two containers may cover the home of the same type. A space alone may be part of a metadata key.
  const name = ({ field, value }: Term): string => `${field.length} ${field} ${value}`
  const stored = new Map(terms.flatMap(indexedAs).map(term => [name(term), term]))
  return [...stored.values()].map(term => hashTerm(tenant, term))
}

/** Everything that the token is found by, without repetition. */
export const tokenTerms = (
  tenant: UnlockedTenant,
  token: Token,
  category = categoryOf(tenant.keys, token),
): IndexTerm[] => {
  const terms = [...category.terms]
  for (const term of contentTerms(token)) terms.push({ term: hashTerm(tenant, term), tag: null })
  if (token.fingerprint !== undefined)
    terms.push(fingerprintHash(tenant.keys, token.fingerprint, matchTag(token)))
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
