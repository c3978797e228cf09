import { isJsonObject, type Json, type JsonObject, setOwn } from '../json/json.ts'
import { Secret } from '../secret.ts'
import type { Instant } from '../time/instant.ts'
import type { Transient } from './token.ts'
import type { TokenType } from './types/token-type.ts'

/**
 * Takes the transient fields out of `data` (C11). A field that was there before keeps its deadline; one
 * that this write brings starts its own.
 */
export const splitTransients = (
  data: Json,
  type: TokenType,
  now: Instant,
  kept: readonly Transient[] = [],
): { data: Json; transients: Transient[] } => {
  if (!isJsonObject(data) || !hasTransient(data, type)) return { data, transients: [] }
  const transients: Transient[] = []
  const rest: JsonObject = {}
  for (const [field, value] of Object.entries(data)) {
    const rule = Object.hasOwn(type.transient, field) ? type.transient[field] : undefined
    if (rule === undefined) setOwn(rest, field, value)
    else
      transients.push(
        kept.find(transient => transient.field === field) ?? {
          field,
          value: new Secret(value),
          expiresAt: now + rule.lifetimeMs,
        },
      )
  }
  return { data: rest, transients }
}

/** Nearly all data has none, and is taken as it is. */
const hasTransient = (data: JsonObject, type: TokenType): boolean => {
  for (const field in type.transient) if (Object.hasOwn(data, field)) return true
  return false
}
