import { isJsonObject, type Json, type JsonObject, setOwn } from '../domain/json.ts'

/** C5: on create, null for an optional field is the same as leaving it out. `except` names fields that keep it. */
export const dropNulls = (body: Json, except: readonly string[]): Json => {
  if (!isJsonObject(body) || !Object.values(body).includes(null)) return body
  const kept: JsonObject = {}
  for (const [name, value] of Object.entries(body))
    if (value !== null || except.includes(name)) setOwn(kept, name, value)
  return kept
}
