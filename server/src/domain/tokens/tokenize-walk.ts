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
  const build = visit(payload, '', found)
  return { found, rebuild: build }
}

type Build = (results: readonly Json[]) => Json

const visit = (value: Json, place: string, found: Tokenizable[]): Build => {
  if (value === null) return () => null
  if (Array.isArray(value)) {
    const items = value.map((item, index) => visit(item, element(place, index), found))
    return results => items.map(item => item(results))
  }
  if (isJsonObject(value)) {
    if (Object.hasOwn(value, 'type') && Object.hasOwn(value, 'data'))
      return add({ kind: 'definition', body: value, place }, found)
    const entries = keysAsSent(value).map(
      (key, index) =>
        [key, visit(getOwn(value, key) ?? null, chosenKey(place, key, index + 1), found)] as const,
    )
    return results => {
      const object: JsonObject = {}
      for (const [key, item] of entries) setOwn(object, key, item(results))
      return object
    }
  }
  return add({ kind: 'value', data: value, place }, found)
}

const add = (item: Tokenizable, found: Tokenizable[]): Build => {
  if (found.length >= limits.tokensPerTokenize)
    throw invalid({ path: '$', message: `must hold at most ${limits.tokensPerTokenize} values to tokenize` })
  const position = found.push(item) - 1
  return results => results[position] ?? null
}
