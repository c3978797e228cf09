import { indexHash } from '../crypto/index-hash.ts'
import type { TenantKeys } from '../crypto/keys.ts'
import { coveringTerms, type Term, typeTerm } from '../domain/index-terms.ts'
import type { Token } from '../domain/token.ts'
import type { IndexTerm } from '../store/rows.ts'
import { containerCounter, typeCounter } from './counters.ts'

/** What all tokens of one type in the same containers share in the index and in the counters. */
export type Place = {
  readonly terms: readonly IndexTerm[]
  readonly typeCounter: string
  readonly containerCounters: readonly string[]
}

/** Few places recur in almost every token; hashing and naming them anew would cost 8 µs per write. */
const known = new WeakMap<TenantKeys, Map<string, Place>>()
const placesMax = 1_000

export const placeOf = (keys: TenantKeys, { type, containers }: Token): Place => {
  let places = known.get(keys)
  if (places === undefined || places.size >= placesMax) {
    places = new Map()
    known.set(keys, places)
  }
  const name = `${type.name} ${containers.join()}`
  let place = places.get(name)
  if (place === undefined) {
    const hashed = (terms: readonly Term[]): Buffer[] =>
      terms.map(({ field, value }) => indexHash(keys, field, value))
    const containerTerms = hashed(coveringTerms(containers))
    place = {
      terms: [...containerTerms, ...hashed([typeTerm(type.name)])].map(term => ({ term, tag: null })),
      typeCounter: typeCounter(type.name),
      containerCounters: containerTerms.map(containerCounter),
    }
    places.set(name, place)
  }
  return place
}
