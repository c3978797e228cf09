import type { TenantKeys } from '../../crypto/keys.ts'
import { categoryTerms, containerTerm, coveringContainers } from '../../domain/tokens/index-terms.ts'
import { isAtHome, type Token } from '../../domain/tokens/token.ts'
import type { IndexTerm } from '../../store/rows.ts'
import { containerCounter, severalContainersCounter, typeCounter } from '../vault/counters.ts'
import { memoPerTenant } from '../vault/memo-per-tenant.ts'
import { hashTerm } from './hash-terms.ts'

/** What all tokens of one type in the same containers share in the index and in the counters. */
export type Category = {
  readonly terms: readonly IndexTerm[]
  readonly typeCounter: string
  readonly containerCounters: readonly string[]
}

/** Nearly all tokens belong to a few categories, and hashing and naming one again would cost 8 µs per write. */
const known = memoPerTenant<Category>(1_000)

export const categoryOf = (keys: TenantKeys, token: Token): Category => {
  const { type, containers } = token
  // No name is put together for most tokens, which lie where their type puts them.
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
