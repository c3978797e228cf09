import { pace } from '../../domain/pace.ts'
import type { Term } from '../../domain/tokens/index-terms.ts'
import { hashTerm } from '../tokens/index-entries.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** Reads a little of the index for each term, enough to tell rare ones from common ones. */
export const estimateTerms = async (
  vault: Vault,
  caller: Caller,
  terms: readonly Term[],
): Promise<(term: Term) => number> => {
  if (terms.length === 0) return () => 0
  const name = ({ field, value }: Term): string => `${field}\0${value}`
  const hashes = new Map(terms.map(term => [name(term), hashTerm(caller, term)]))
  const counts = await vault.store.estimateTerms(
    caller.tenantNumber,
    [...hashes.values()],
    pace.searchProbeEntries,
  )
  const known = new Map([...hashes.keys()].map((key, index) => [key, counts[index] ?? 0]))
  return term => known.get(name(term)) ?? 0
}
