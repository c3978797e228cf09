import type { TenantKeys } from '../../crypto/keys.ts'
import {
  categoryTerms,
  containerTerm,
  coveringContainers,
  matchTag,
  metadataTerms,
  searchIndexTerms,
} from '../../domain/tokens/index-terms.ts'
import { isAtHome, type Token } from '../../domain/tokens/token.ts'
import { type IndexEntry, type IndexedToken, type IndexTerm, signatureOf } from '../../store/rows.ts'
import { containerCounter, severalContainersCounter, typeCounter } from '../vault/counters.ts'
import type { UnlockedTenant } from '../vault/vault.ts'
import { hashFingerprint, hashTerm, keptHash, memoPerTenant } from './hash-terms.ts'

/** What all tokens of one type in the same containers share in the index and in the counters. */
export type Category = {
  readonly terms: readonly IndexTerm[]
  readonly typeCounter: string
  readonly containerCounters: readonly string[]
}

/** Nearly all tokens belong to a few categories. Hashing and naming one again would cost 8 µs per write. */
const known = memoPerTenant<Category>(1_000)

export const categoryOf = (keys: TenantKeys, token: Token): Category => {
  const { type, containers } = token
  // Most tokens lie where their type puts them, and need no composed name.
  const name = isAtHome(token) ? type.name : `${type.name} ${containers.join()}`
  return known(keys).getOrMake(name, () => ({
    terms: categoryTerms(token).map(term => ({ term: hashTerm({ keys }, term), tag: null })),
    typeCounter: typeCounter(type.name),
    containerCounters: [
      ...coveringContainers(containers).map(container =>
        containerCounter(hashTerm({ keys }, containerTerm(container))),
      ),
      ...(containers.length > 1 ? [severalContainersCounter] : []),
    ],
  }))
}

/** All terms that find the token, each once. */
export const tokenTerms = (
  tenant: UnlockedTenant,
  token: Token,
  category = categoryOf(tenant.keys, token),
): IndexTerm[] => {
  const terms = [...category.terms]
  for (const term of metadataTerms(token)) terms.push({ term: hashTerm(tenant, term), tag: null })
  // Two search indexes may render the same value.
  for (const term of new Set(token.indexTerms))
    if (term !== null) terms.push({ term: Buffer.from(term, 'base64'), tag: null })
  if (token.fingerprint !== undefined) terms.push(hashFingerprint(tenant, token.fingerprint, matchTag(token)))
  return terms
}

/** What the token keeps of its search indexes. Made anew when data or indexes change. */
export const indexTermsOf = (
  tenant: UnlockedTenant,
  token: Pick<Token, 'data' | 'searchIndexes' | 'type'>,
): Token['indexTerms'] => searchIndexTerms(token).map(term => term && keptHash(tenant, term))

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
