import type { CursorQuery } from '../../contract/finding/cursor-query.ts'
import { filterText } from '../../domain/tokens/token-filter.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { cursorPage } from './cursor-page.ts'
import type { Page } from './page.ts'
import { planList } from './plan-list.ts'

/** C25: the list of C24 without a count. */
export const listTokensByCursor = async (
  vault: Vault,
  caller: Caller,
  { filter, start, size }: CursorQuery,
): Promise<Page> => {
  const planned = await planList(vault, caller, filter)
  return cursorPage(vault, caller, planned, { start, size, boundTo: filterText(filter) })
}
