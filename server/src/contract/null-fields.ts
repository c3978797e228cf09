import {
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
  const kept: JsonObject = {}
  for (const [name, value] of Object.entries(body))
    if (value !== null || except.includes(name) || !Object.hasOwn(known, name)) setOwn(kept, name, value)
  // The remaining fields keep the positions in which they were sent (C2).
  rememberOrder(kept, keysAsSent(body))
  return kept
}
