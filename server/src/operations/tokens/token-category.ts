import { indexHash } from '../../crypto/index-hash.ts'
import type { TenantKeys } from '../../crypto/keys.ts'
import { containerTerms, type OwnTerm, typeTerm } from '../../domain/tokens/index-terms.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { IndexTerm } from '../../store/rows.ts'
import { containerCounter, severalContainersCounter, typeCounter } from '../vault/counters.ts'

/** What all tokens of one type in the same containers share in the index and in the counters. */
export type Category = {
  readonly terms: readonly IndexTerm[]
  readonly typeCounter: string
  readonly containerCounters: readonly string[]
}

/** Marks a container that the token only lies below, so that `container:/a/` can be answered without opening tokens. */
const aboveTag = Uint8Array.of(1)

/** Nearly all tokens belong to a few categories, and hashing and naming one again would cost 8 µs per write. */
const known = new WeakMap<TenantKeys, Map<string, Category>>()
const categoriesMax = 1_000

export const categoryOf = (keys: TenantKeys, { type, containers }: Token): Category => {
  let categories = known.get(keys)
  if (categories === undefined || categories.size >= categoriesMax) {
    categories = new Map()
    known.set(keys, categories)
  }
  const name = `${type.name} ${containers.join()}`
  let category = categories.get(name)
  if (category === undefined) {
    const hashed = ({ field, value, isAbove }: OwnTerm): IndexTerm => ({
      term: indexHash(keys, field, value),
      tag: isAbove === true ? aboveTag : null,
    })
    const covering = containerTerms(containers).map(hashed)
    category = {
      terms: [...covering, hashed(typeTerm(type.name))],
      typeCounter: typeCounter(type.name),
      containerCounters: [
        ...covering.map(({ term }) => containerCounter(term)),
        ...(containers.length > 1 ? [severalContainersCounter] : []),
      ],
    }
    categories.set(name, category)
  }
  return category
}
