import type { CursorQuery } from '../contract/cursor-query.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { filterText } from '../domain/tokens/token-filter.ts'
import { cursorPage } from './finding/cursor-page.ts'
import { planList } from './finding/plan-list.ts'
import type { Caller, Vault } from './vault/vault.ts'

/** C25: the list of C24 without a count. */
export const listTokensByCursor = async (
  vault: Vault,
  caller: Caller,
  { filter, start, size }: CursorQuery,
): Promise<JsonObject> => {
  const planned = await planList(vault, caller, filter)
  return cursorPage(vault, caller, planned, { start, size, boundTo: filterText(filter) })
}
