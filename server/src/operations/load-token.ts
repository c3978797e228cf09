import { isExpired, type Token } from '../domain/token.ts'
import type { TokenRow } from '../store/rows.ts'
import { toToken } from './token-rows.ts'
import type { Caller, Vault } from './vault.ts'

/** The living token with this id, opened, or undefined. Access is the operation's to decide. */
export const loadToken = async (vault: Vault, caller: Caller, id: string): Promise<Token | undefined> => {
  const row = await vault.store.getToken(caller.tenantNumber, id)
  if (row === undefined) return undefined
  const now = vault.clock()
  const mayHaveTransients = row.transientUntil !== null && row.transientUntil > now
  const token = mayHaveTransients
    ? (await openTokens(vault, caller, [row]))[0]
    : toToken(row, [], caller.keys)
  return token === undefined || isExpired(token, now) ? undefined : token
}

/** Opens rows with those of their transient fields that are not due yet. */
export const openTokens = async (
  vault: Vault,
  caller: Caller,
  rows: readonly TokenRow[],
): Promise<Token[]> => {
  const now = vault.clock()
  const withTransients = rows.filter(row => row.transientUntil !== null && row.transientUntil > now)
  const transients =
    withTransients.length === 0
      ? []
      : await vault.store.getTransients(
          caller.tenantNumber,
          withTransients.map(row => row.id),
        )
  return rows.map(row =>
    toToken(
      row,
      transients.filter(transient => transient.tokenId === row.id && transient.expiresAt > now),
      caller.keys,
    ),
  )
}
