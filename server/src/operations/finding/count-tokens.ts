import type { Term } from '../../domain/tokens/index-terms.ts'
import type { TokenQuery } from '../../store/port.ts'
import { hashGroup, hashTerm } from '../tokens/hash-terms.ts'
import { containerCounter, severalContainersCounter, typeCounter } from '../vault/counters.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/**
 * C24: counts with kept counters where they suffice, otherwise with the index, and never row by row. `onlyTerms` is set if the
 * query asks for one of these terms and nothing else.
 */
export const countTokens = async (
  vault: Vault,
  caller: Caller,
  query: TokenQuery,
  onlyTerms: readonly Term[] = [],
): Promise<number> => {
  const [first] = onlyTerms
  const isAll = (field: string): boolean => first?.field === field && onlyTerms.every(t => t.field === field)
  const kept = isAll('type')
    ? await countTypes(vault, caller, onlyTerms, query.now)
    : isAll('container')
      ? await countContainers(vault, caller, onlyTerms, query.now)
      : undefined
  return kept ?? vault.store.countTokens(query, caller.work)
}

const countTypes = async (
  { store }: Vault,
  { tenantNumber }: Caller,
  terms: readonly Term[],
  now: number,
): Promise<number> => {
  const types = terms.map(({ value }) => value)
  const { counters, expired } = await store.readCounts(tenantNumber, types.map(typeCounter), now)
  const gone = types.reduce((sum, type) => sum + (expired.get(type) ?? 0), 0)
  return counters.reduce((sum, { value }) => sum + value, -gone)
}

/** Undefined if tokens may lie in two of the containers, because then their counters do not add up. */
const countContainers = async (
  { store }: Vault,
  caller: Caller,
  terms: readonly Term[],
  now: number,
): Promise<number | undefined> => {
  const names = terms.map(term => containerCounter(hashTerm(caller, term)))
  const { counters, expired } = await store.readCounts(
    caller.tenantNumber,
    [...names, severalContainersCounter],
    now,
    hashGroup(caller, terms),
  )
  const several = counters.find(({ name }) => name === severalContainersCounter)
  if (terms.length > 1 && (several?.value ?? 0) !== 0) return undefined
  const gone = [...expired.values()].reduce((sum, n) => sum + n, 0)
  return counters.filter(counter => counter !== several).reduce((sum, { value }) => sum + value, -gone)
}
