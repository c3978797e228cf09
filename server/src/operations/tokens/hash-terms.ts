import { indexHash, matchTagHash } from '../../crypto/keyed-hashes.ts'
import type { TenantKeys } from '../../crypto/keys.ts'
import { Memo } from '../../domain/memo.ts'
import { everyType, indexedAs, isOfCategory, nameOfTerm, type Term } from '../../domain/tokens/index-terms.ts'
import type { UnlockedTenant } from '../vault/vault.ts'

/** A memo per tenant of values made with its keys. It is forgotten together with the keys. */
export const memoPerTenant = <Value>(capacity: number): ((keys: TenantKeys) => Memo<Value>) => {
  const memos = new WeakMap<TenantKeys, Memo<Value>>()
  return keys => {
    let memo = memos.get(keys)
    if (memo === undefined) {
      memo = new Memo(capacity)
      memos.set(keys, memo)
    }
    return memo
  }
}

type WithKeys = Pick<UnlockedTenant, 'keys'>

/** Hashing one again would cost 4 µs. */
const categoryHashes = memoPerTenant<Buffer>(1_000)

/** A term as storage knows it. */
export const hashTerm = ({ keys }: WithKeys, term: Term): Buffer => {
  const { field, value } = term
  return isOfCategory(term)
    ? categoryHashes(keys).getOrMake(`${field} ${value}`, () => indexHash(keys, field, value))
    : indexHash(keys, field, value)
}

/** Nearly all tokens of a tenant share a few. */
const tagHashes = memoPerTenant<Buffer>(1_000)

/** A fingerprint as storage knows it, with the tag that separates tokens that share it but do not match. */
export const hashFingerprint = (
  { keys }: WithKeys,
  fingerprint: string,
  tag: string | undefined,
): { term: Buffer; tag: Buffer | null } => ({
  term: indexHash(keys, 'fingerprint', fingerprint),
  tag: tag === undefined ? null : tagHashes(keys).getOrMake(tag, () => matchTagHash(keys, tag)),
})

/** A term in the form in which a token keeps it. */
export const keptHash = (tenant: WithKeys, term: Term): string => hashTerm(tenant, term).toString('base64')

/** Every list without a filter asks for these terms. Hashing and naming all types again would take 3 % of such a list. */
const everyTypeHashed = new WeakMap<TenantKeys, readonly Buffer[]>()

/** Hashes the index terms of which a token must have one, in order to have one of these. */
export const hashGroup = (tenant: WithKeys, terms: readonly Term[]): readonly Buffer[] => {
  if (terms !== everyType) return hashTerms(tenant, terms)
  let hashed = everyTypeHashed.get(tenant.keys)
  if (hashed === undefined) {
    hashed = hashTerms(tenant, terms)
    everyTypeHashed.set(tenant.keys, hashed)
  }
  return hashed
}

const hashTerms = (tenant: WithKeys, terms: readonly Term[]): readonly Buffer[] => {
  // Each hash once, because two containers may cover the home of the same type.
  const stored = new Map(terms.flatMap(indexedAs).map(term => [nameOfTerm(term), term]))
  return [...stored.values()].map(term => hashTerm(tenant, term))
}
