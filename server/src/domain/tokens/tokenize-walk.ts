import { invalid } from '../errors.ts'
import { getOwn, isJsonObject, type Json, type JsonObject, keysAsSent, setOwn } from '../json/json.ts'
import { limits } from '../limits.ts'
import { chosenKey, element } from '../place.ts'

/** Something in the payload that becomes a token: a bare value, or an object that defines one (§4.1). */
export type Tokenizable =
  | { readonly kind: 'value'; readonly data: Json; readonly place: string }
  | { readonly kind: 'definition'; readonly body: JsonObject; readonly place: string }

export type TokenizeWalk = {
  readonly found: readonly Tokenizable[]
  /** The payload with each found element replaced by its result; `results` is in the order of `found`. */
  rebuild(results: readonly Json[]): Json
}

/** C23: strings, numbers and booleans become tokens; null and empty containers stay as they are. */
export const walkPayload = (payload: Json): TokenizeWalk => {
  const found: Tokenizable[] = []
  const build = visit(payload, undefined, found)
  return { found, rebuild: build ?? (() => payload) }
}

/**
 * A place, written out only where something is found: a body of a megabyte has half a million places and at most a
 * thousand tokens. Writing out and copying all of it took 0.9 s, during which nobody else was answered.
 */
type Place = { readonly within: Place | undefined; readonly key?: string; readonly index: number }

const placeText = (place: Place | undefined): string => {
  if (place === undefined) return ''
  const { within, key, index } = place
  return key === undefined ? element(placeText(within), index) : chosenKey(placeText(within), key, index + 1)
}

type Build = (results: readonly Json[]) => Json

/** Undefined if the value stays as it is. */
const visit = (value: Json, place: Place | undefined, found: Tokenizable[]): Build | undefined => {
  if (value === null) return undefined
  if (Array.isArray(value)) return visitList(value, place, found)
  if (!isJsonObject(value)) return add({ kind: 'value', data: value, place: placeText(place) }, found)
  return Object.hasOwn(value, 'type') && Object.hasOwn(value, 'data')
    ? add({ kind: 'definition', body: value, place: placeText(place) }, found)
    : visitObject(value, place, found)
}

const visitList = (
  list: readonly Json[],
  within: Place | undefined,
  found: Tokenizable[],
): Build | undefined => {
  const changed: [index: number, build: Build][] = []
  for (const [index, item] of list.entries()) {
    const build = visit(item, { within, index }, found)
    if (build !== undefined) changed.push([index, build])
  }
  if (changed.length === 0) return undefined
  return results => {
    const copy = [...list]
    for (const [index, build] of changed) copy[index] = build(results)
    return copy
  }
}

const visitObject = (
  object: JsonObject,
  within: Place | undefined,
  found: Tokenizable[],
): Build | undefined => {
  const changed: [key: string, build: Build][] = []
  for (const [index, key] of keysAsSent(object).entries()) {
    const build = visit(getOwn(object, key) ?? null, { within, key, index }, found)
    if (build !== undefined) changed.push([key, build])
  }
  if (changed.length === 0) return undefined
  return results => {
    const copy: JsonObject = { ...object }
    for (const [key, build] of changed) setOwn(copy, key, build(results))
    return copy
  }
}

const add = (item: Tokenizable, found: Tokenizable[]): Build => {
  if (found.length >= limits.tokensPerTokenize)
    throw invalid({ path: '$', message: `must hold at most ${limits.tokensPerTokenize} values to tokenize` })
  const position = found.push(item) - 1
  return results => results[position] ?? null
}
