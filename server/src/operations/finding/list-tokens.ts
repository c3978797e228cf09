import type { ListQuery } from '../../contract/finding/list-query.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { planList } from './plan-list.ts'
import { tokenPage } from './token-page.ts'

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
