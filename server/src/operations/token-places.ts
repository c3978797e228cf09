import { indexHash } from '../crypto/index-hash.ts'
import type { TenantKeys } from '../crypto/keys.ts'
import { containerTerms, type OwnTerm, typeTerm } from '../domain/index-terms.ts'
import type { Token } from '../domain/token.ts'
import type { IndexTerm } from '../store/rows.ts'
import { containerCounter, severalContainersCounter, typeCounter } from './counters.ts'

/** What all tokens of one type in the same containers share in the index and in the counters. */
export type Place = {
  readonly terms: readonly IndexTerm[]
  readonly typeCounter: string
  /** Of its containers. */
  readonly counters: readonly string[]
}

/** Marks the entry of a container that the token lies below, so that `container:/a/` needs no opened token. */
const aboveTag = Uint8Array.of(1)

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
    const hashed = ({ field, value, isAbove }: OwnTerm): IndexTerm => ({
      term: indexHash(keys, field, value),
      tag: isAbove === true ? aboveTag : null,
    })
    const covering = containerTerms(containers).map(hashed)
    place = {
      terms: [...covering, hashed(typeTerm(type.name))],
      typeCounter: typeCounter(type.name),
      counters: [
        ...covering.map(({ term }) => containerCounter(term)),
        ...(containers.length > 1 ? [severalContainersCounter] : []),
      ],
    }
    places.set(name, place)
  }
  return place
}
