import { getOwn, isJsonObject, type Json, type JsonObject, setOwn } from './json.ts'

/**
 * RFC 7386 (§4.5): objects merge, null removes, anything else replaces. Neither argument is changed; the
 * result shares the parts that stay the same.
 */
export const mergePatch = (target: Json | undefined, patch: Json): Json => {
  if (!isJsonObject(patch)) return patch
  // A spread copies an own "__proto__" as it is; only assigning one would set the prototype.
  const merged: JsonObject = isJsonObject(target) ? { ...target } : {}
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete merged[key]
    else setOwn(merged, key, mergePatch(getOwn(merged, key), change))
  }
  return merged
}
