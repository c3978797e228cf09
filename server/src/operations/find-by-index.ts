import type { TokenQuery } from '../store/port.ts'
import type { TokenRow } from '../store/rows.ts'
import type { Vault } from './vault.ts'

export type Found = {
  readonly rows: readonly TokenRow[]
  /** All that were found, also outside the page. */
  readonly total: number
  /** How many rows were read and opened. */
  readonly opened: number
}

/** One page, and a count that no row is opened for. */
export const findByIndex = async (
  vault: Vault,
  query: TokenQuery,
  page: { offset: number; limit: number },
  count: Promise<number>,
): Promise<Found> => {
  const [rows, total] = await Promise.all([vault.store.listTokens(query, page), count])
  return { rows, total, opened: rows.length }
}
