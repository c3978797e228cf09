import type { ListQuery } from '../contract/list-query.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { planList } from './finding/plan-list.ts'
import { tokenPage } from './finding/token-page.ts'
import type { Caller, Vault } from './vault/vault.ts'

/** §4.3, C24: newest first, only what the caller may read, with an exact count of it. */
export const listTokens = async (
  vault: Vault,
  caller: Caller,
  { filter, page, size }: ListQuery,
): Promise<JsonObject> => {
  const planned = await planList(vault, caller, filter)
  const { answer } = await tokenPage(vault, caller, planned, { page, size })
  return answer
}
