import type { CursorQuery } from '../contract/cursor-query.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { filterText, matchesFilter } from '../domain/tokens/token-filter.ts'
import { cursorPage, type Finding } from './finding/cursor-page.ts'
import { mayMeetHiddenFingerprints, planList } from './finding/plan-list.ts'
import type { Caller, Vault } from './vault/vault.ts'

/** C25: the list of C24 without a count. */
export const listTokensByCursor = async (
  vault: Vault,
  caller: Caller,
  { filter, start, size }: CursorQuery,
): Promise<JsonObject> => {
  const { query } = await planList(vault, caller, filter, vault.clock())
  const finding: Finding = {
    query,
    matches: (token, transform) => matchesFilter(token, filter, transform),
    byOpening: mayMeetHiddenFingerprints(caller, filter),
  }
  return cursorPage(vault, caller, finding, { start, size, boundTo: filterText(filter) })
}
