import type { TenantKeys } from '../../crypto/keys.ts'
import { categoryTerms, containerTerm, coveringContainers } from '../../domain/tokens/index-terms.ts'
import { isAtHome, type Token } from '../../domain/tokens/token.ts'
import type { IndexTerm } from '../../store/rows.ts'
import { containerCounter, severalContainersCounter, typeCounter } from '../vault/counters.ts'
import { hashTerm } from './hash-terms.ts'

/** What all tokens of one type in the same containers share in the index and in the counters. */
export type Category = {
  readonly terms: readonly IndexTerm[]
  readonly typeCounter: string
  readonly containerCounters: readonly string[]
}

/** Nearly all tokens belong to a few categories, and hashing and naming one again would cost 8 µs per write. */
const known = new WeakMap<TenantKeys, Map<string, Category>>()
const categoriesMax = 1_000

export const categoryOf = (keys: TenantKeys, token: Token): Category => {
  const { type, containers } = token
  let categories = known.get(keys)
  if (categories === undefined || categories.size >= categoriesMax) {
    categories = new Map()
    known.set(keys, categories)
  }
  // No name is put together for most tokens, which lie where their type puts them.
  const name = isAtHome(token) ? type.name : `${type.name} ${containers.join()}`
  let category = categories.get(name)
  if (category === undefined) {
    category = {
      terms: categoryTerms(token).map(term => ({ term: hashTerm({ keys }, term), tag: null })),
      typeCounter: typeCounter(type.name),
      containerCounters: [
        ...coveringContainers(containers).map(container =>
          containerCounter(hashTerm({ keys }, containerTerm(container))),
        ),
        ...(containers.length > 1 ? [severalContainersCounter] : []),
      ],
    }
    categories.set(name, category)
  }
  return category
}
