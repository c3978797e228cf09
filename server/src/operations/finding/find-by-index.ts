import type { TokenQuery } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import type { Vault } from '../vault/vault.ts'

export type Found = {
  readonly rows: readonly TokenRow[]
  /** How many were found, including those outside the page. */
  readonly total: number
  /** How many rows were read and opened. */
  readonly opened: number
}

/** One page, and how many tokens there are in all. They need not be counted if the first page holds all of them. */
export const findByIndex = async (
  vault: Vault,
  query: TokenQuery,
  { offset, limit }: { offset: number; limit: number },
  count: () => Promise<number>,
): Promise<Found> => {
  const rows = await vault.store.listTokens(query, { offset, limit })
  const most = 'ids' in query && query.ids !== undefined ? query.ids.length : Number.POSITIVE_INFINITY
  const isAll = offset === 0 && (rows.length < limit || rows.length === most)
  return { rows, total: isAll ? rows.length : await count(), opened: rows.length }
}
