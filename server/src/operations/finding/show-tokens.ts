import { readTransform } from '../../domain/access/access.ts'
import type { Transform } from '../../domain/access/application.ts'
import type { Json } from '../../domain/json/json.ts'
import { isExpired, type Token } from '../../domain/tokens/token.ts'
import type { TokenRow } from '../../store/rows.ts'
import { openTokens } from '../tokens/load-token.ts'
import { showToken } from '../tokens/show-token.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** Whether a token belongs to the answer, for a caller who reads it under this transform. */
export type Matches = (token: Token, transform: Transform) => boolean

/** The index proposes, and the opened token decides. Undefined for a token that the answer leaves out. */
export const visibleTransform = (
  caller: Caller,
  token: Token,
  now: number,
  matches: Matches,
): Transform | undefined => {
  if (isExpired(token, now)) return undefined
  const transform = readTransform(caller.application, token.containers)
  return transform !== undefined && matches(token, transform) ? transform : undefined
}

/** Shows the rows as the caller sees them. Shown tokens count as active this month (C32). */
export const showTokens = async (
  vault: Vault,
  caller: Caller,
  rows: readonly TokenRow[],
  matches: Matches,
): Promise<Json[]> => {
  const now = vault.clock()
  const data: Json[] = []
  const shown: Token[] = []
  for (const token of await openTokens(vault, caller, rows)) {
    if (!caller.work.hasTurn) await caller.work.turn()
    const transform = visibleTransform(caller, token, now, matches)
    if (transform === undefined) continue
    shown.push(token)
    data.push(showToken(vault, token, transform, now))
  }
  vault.activity.note(caller.tenantNumber, shown, now)
  return data
}
