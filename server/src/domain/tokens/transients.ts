import { isJsonObject, type Json, type JsonObject, setOwn } from '../json/json.ts'
import { Secret } from '../secret.ts'
import { type Instant, isPending, type PendingDeadlines, pendingDeadlines } from '../time/instant.ts'
import type { Token, Transient } from './token.ts'
import { tokenTypes } from './types/registry.ts'
import type { TokenType } from './types/token-type.ts'

/**
 * Takes the transient fields out of `data` (C11). A field in `kept` keeps its deadline; one that this write brings
 * starts its own.
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

/** Nearly all data has none, and is used as it is. */
const hasTransient = (data: JsonObject, type: TokenType): boolean => {
  for (const field in type.transient) if (Object.hasOwn(data, field)) return true
  return false
}

/** `data` with the transient fields that are still visible. */
export const wholeData = (token: Pick<Token, 'data' | 'transients'>, now: Instant): Json => {
  const data = token.data.expose('the whole of it, for a caller with reveal or to merge a patch into')
  if (token.transients.length === 0) return data
  const whole = { ...(data as JsonObject) }
  const pending = transientDeadlines(now)
  for (const { field, value, expiresAt } of token.transients)
    if (isPending(expiresAt, pending)) setOwn(whole, field, value.expose('part of the whole'))
  return whole
}

/** One range for the fields of all types: storage, which purges those that are due, does not know them. */
export const transientDeadlines = (now: Instant): PendingDeadlines => pendingDeadlines(longestLifetimeMs, now)

const longestLifetimeMs = Math.max(
  ...[...tokenTypes.values()]
    .flatMap(({ transient }) => Object.values(transient))
    .map(({ lifetimeMs }) => lifetimeMs),
)
