import type { ListQuery } from '../../contract/finding/list-query.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import type { Page } from './page.ts'
import { planList } from './plan-list.ts'
import { tokenPage } from './token-page.ts'

/** §4.3, C24: lists the tokens that the caller may read, newest first, with their exact number. */
export const listTokens = async (
  vault: Vault,
  caller: Caller,
  { filter, page, size }: ListQuery,
): Promise<Page> => {
  const planned = await planList(vault, caller, filter)
  return tokenPage(vault, caller, planned, { page, size })
}
