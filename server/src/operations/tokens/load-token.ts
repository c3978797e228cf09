import { TamperedError } from '../../domain/tampered-error.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { isExpired, type Token } from '../../domain/tokens/token.ts'
import type { TokenRow } from '../../store/rows.ts'
import type { Caller, UnlockedTenant, Vault } from '../vault/vault.ts'
import { openTokenRow } from './token-rows.ts'

/** Loads and opens the living token with this id; undefined if there is none. The operation decides about access. */
export const loadToken = async (vault: Vault, caller: Caller, id: string): Promise<Token | undefined> => {
  const row = await vault.store.getToken(caller.tenantNumber, id)
  if (!caller.work.hasTurn) await caller.work.turn()
  if (row === undefined) return undefined
  requireSameId(row, id, caller)
  const now = vault.clock()
  const token = mayHaveTransients(row, now)
    ? (await openTokens(vault, caller, [row]))[0]
    : openTokenRow(row, [], caller.keys)
  if (token === undefined || isExpired(token, now)) return undefined
  caller.act.finds(id)
  return token
}

const mayHaveTransients = ({ transientUntil }: TokenRow, now: Instant): boolean =>
  transientUntil !== null && transientUntil > now

/** A row opens under the id that it carries, so storage could return one genuine row in place of another. */
export const requireSameId = (row: TokenRow, id: string, { keys: { tenantId } }: UnlockedTenant): void => {
  if (row.id !== id) throw new TamperedError({ kind: 'token', id, tenantId })
}

/**
 * Opens rows with their transient fields that are not due yet. A row with such fields is read again together with them, so that
 * no change in between combines an old token with a new field. A row that is gone by then is left out. A field whose deadline is
 * too far ahead is opened too, but not shown (`wholeData`): only its seal can tell whether a wrong clock set the deadline or
 * somebody changed it in storage.
 */
export const openTokens = async (
  vault: Vault,
  caller: Caller,
  rows: readonly TokenRow[],
): Promise<Token[]> => {
  const now = vault.clock()
  const ids = rows.filter(row => mayHaveTransients(row, now)).map(row => row.id)
  if (ids.length === 0) {
    const tokens: Token[] = []
    for (const row of rows) {
      if (!caller.work.hasTurn) await caller.work.turn()
      tokens.push(openTokenRow(row, [], caller.keys))
    }
    return tokens
  }
  const whole = await vault.store.getTokens(caller.tenantNumber, ids)
  if (!caller.work.hasTurn) await caller.work.turn()
  return rows.flatMap(row => {
    const current = mayHaveTransients(row, now) ? whole.rows.find(({ id }) => id === row.id) : row
    if (current === undefined) return []
    const transients = whole.transients.filter(
      ({ tokenId, expiresAt }) => tokenId === current.id && expiresAt > now,
    )
    return [openTokenRow(current, transients, caller.keys)]
  })
}
