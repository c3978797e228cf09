import type { SearchTokensByCursor } from '../../contract/finding/search-schemas.ts'
import { limits } from '../../domain/limits.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { cursorPage } from './cursor-page.ts'
import type { Page } from './page.ts'
import { planQuery } from './plan-query.ts'

/** The search of C26 without a count, in the pages of C25. */
export const searchTokensByCursor = async (
  vault: Vault,
  caller: Caller,
  { query: text, start, size = limits.pageSizeDefault }: SearchTokensByCursor,
): Promise<Page> => {
  const planned = await planQuery(vault, caller, text)
  // A query in other words is a different search. Cursors of lists are bound to an array, so neither kind accepts a cursor of the
  // other.
  const wanted = {
    start: start === '' ? undefined : start,
    size,
    boundTo: JSON.stringify({ search: text }),
  }
  return cursorPage(vault, caller, planned, wanted)
}
