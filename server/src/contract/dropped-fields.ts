import {
  getOwn,
  isJsonObject,
  type Json,
  type JsonObject,
  keysAsSent,
  rememberOrder,
  setOwn,
} from '../domain/json/json.ts'
import type { TSchema } from './type.ts'

/**
 * C5: on create, null for an optional field is the same as leaving it out. The fields in `except` keep their null, and
 * so do unknown ones: a misspelt name is refused whatever its value (C6).
 */
export const dropNulls = (body: Json, schema: TSchema, except: readonly string[]): Json => {
  if (!isJsonObject(body) || !Object.values(body).includes(null)) return body
  const known = (schema as { properties?: Record<string, unknown> }).properties ?? {}
  return rebuilt(body, (name, value) =>
    value !== null || except.includes(name) || !Object.hasOwn(known, name) ? value : undefined,
  )
}

/**
 * Drops fields of compatible services that Strongroom does not have, where they are empty: the client libraries of those services
 * send them with every request, and empty they ask for nothing. With a value they are unknown fields like any other (C6). A path
 * such as `rules.conditions` names a field of each object in a list.
 */
export const foreignDropper = (paths: readonly string[]): ((body: Json) => Json) => {
  const own = paths.filter(path => !path.includes('.'))
  const inLists = paths.filter(path => path.includes('.')).map(path => path.split('.'))
  return body => {
    if (!isJsonObject(body)) return body
    let kept = without(body, own)
    for (const [list = '', name = ''] of inLists) {
      const items = getOwn(kept, list)
      if (!Array.isArray(items)) continue
      const cleaned = items.map(item => (isJsonObject(item) ? without(item, [name]) : item))
      if (cleaned.some((item, index) => item !== items[index]))
        kept = rebuilt(kept, (key, value) => (key === list ? cleaned : value))
    }
    return kept
  }
}

const without = (object: JsonObject, names: readonly string[]): JsonObject => {
  const dropped = names.filter(name => asksForNothing(getOwn(object, name)))
  return dropped.length === 0
    ? object
    : rebuilt(object, (key, value) => (dropped.includes(key) ? undefined : value))
}

const asksForNothing = (value: Json | undefined): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && Object.keys(value).length === 0)

/** The fields that remain keep the positions in which they were sent (C2). */
const rebuilt = (object: JsonObject, next: (name: string, value: Json) => Json | undefined): JsonObject => {
  const kept: JsonObject = {}
  for (const [key, value] of Object.entries(object)) {
    const changed = next(key, value)
    if (changed !== undefined) setOwn(kept, key, changed)
  }
  rememberOrder(kept, keysAsSent(object))
  return kept
}
