import { indexHash } from '../../crypto/index-hash.ts'
import { indexedAs, type Term } from '../../domain/tokens/index-terms.ts'
import type { UnlockedTenant } from '../vault/vault.ts'

type WithKeys = Pick<UnlockedTenant, 'keys'>

/** A term as storage knows it. */
export const hashTerm = ({ keys }: WithKeys, { field, value }: Term): Buffer => indexHash(keys, field, value)

/** The terms, as storage knows them, of which a token must have one to have one of these. */
export const hashGroup = (tenant: WithKeys, terms: readonly Term[]): Buffer[] => {
  // Each once: two containers may cover the home of the same type. A space alone may be part of a metadata key.
  const name = ({ field, value }: Term): string => `${field.length} ${field} ${value}`
  const stored = new Map(terms.flatMap(indexedAs).map(term => [name(term), term]))
  return [...stored.values()].map(term => hashTerm(tenant, term))
}
