/**
 * JSON as the vault keeps it (C7): a number that a double cannot hold is an ExactNumber, the engine's own raw JSON
 * value, which `JSON.stringify` writes back as it was sent.
 */
export type ExactNumber = { readonly rawJSON: string }
export type JsonObject = { [key: string]: Json }
export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject

// The standard library's types do not know raw JSON yet.
type RawJson = { rawJSON(text: string): ExactNumber; isRawJSON(value: unknown): value is ExactNumber }
const raw = JSON as unknown as RawJson

export const isExactNumber = (value: unknown): value is ExactNumber => raw.isRawJSON(value)
export const exactNumber = (text: string): ExactNumber => raw.rawJSON(text)

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

/** Sets an own property whatever its name: plain assignment of "__proto__" would set the prototype. */
export const setOwn = (target: JsonObject, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  else target[key] = value
}

/** Reads an own property; inherited names such as "constructor" are not data. */
export const getOwn = <T>(target: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(target, key) ? target[key] : undefined

/** The keys as sent, for objects whose keys JavaScript reorders: it puts whole numbers first, in ascending order. */
const sentOrders = new WeakMap<JsonObject, readonly string[]>()

export const rememberOrder = (object: JsonObject, keys: readonly string[]): void => {
  sentOrders.set(object, keys)
}

/** For error places that are given by position (C2). The order of keys is not part of the value (C7). */
export const keysAsSent = (object: JsonObject): readonly string[] =>
  sentOrders.get(object) ?? Object.keys(object)

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

export const jsonType = (value: Json): JsonType => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isExactNumber(value)) return 'number'
  return typeof value as JsonType
}

/** Compact JSON text; exact numbers as they were sent, lone surrogates escaped. */
export const stringify = (value: Json): string => JSON.stringify(value)
