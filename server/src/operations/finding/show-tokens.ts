import { type Decision, decisionFor } from '../../domain/access/access.ts'
import type { Transform } from '../../domain/access/application.ts'
import type { Json } from '../../domain/json/json.ts'
import { isExpired, type Token } from '../../domain/tokens/token.ts'
import type { TokenRow } from '../../store/rows.ts'
import { openTokens } from '../tokens/load-token.ts'
import { showToken } from '../tokens/show-token.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** Whether a token belongs to the answer, for a caller who reads it under this transform. */
export type Matches = (token: Token, transform: Transform) => boolean

/** An index only proposes, the opened token decides. Undefined for a token that the answer leaves out. */
export const decisionToShow = (
  caller: Caller,
  token: Token,
  now: number,
  matches: Matches,
): Decision | undefined => {
  if (isExpired(token, now)) return undefined
  const decision = decisionFor(caller.application, 'token:read', token.containers)
  return decision !== undefined && matches(token, decision.transform) ? decision : undefined
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
    const decision = decisionToShow(caller, token, now, matches)
    if (decision === undefined) continue
    shown.push(token)
    caller.act.touches(token, 'token:read', decision)
    data.push(showToken(vault, token, decision.transform, now))
  }
  vault.activity.note(caller.tenantNumber, shown, now)
  return data
}
