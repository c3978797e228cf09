import type { SearchTokens } from '../../contract/finding/search-schemas.ts'
import { mayRedact } from '../../domain/access/access.ts'
import { limits } from '../../domain/limits.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { explainSearch } from './explain-search.ts'
import type { Page } from './page.ts'
import { planQuery } from './plan-query.ts'
import { tokenPage } from './token-page.ts'

/**
 * C26. Storage finds and counts what it can decide exactly. It cannot decide which tokens hide their data or fingerprint from the
 * caller. If the query asks for either, and the caller may see tokens under `redact`, every proposed token is opened. The count
 * stays exact, at the cost of opening each one.
 */
export const searchTokens = async (
  vault: Vault,
  caller: Caller,
  { query: text, page = 1, size = limits.pageSizeDefault, explain = false }: SearchTokens,
): Promise<Page> => {
  const { application } = caller
  const planned = await planQuery(vault, caller, text, { isExplained: explain })
  const found = tokenPage(vault, caller, planned, { page, size })
  if (!explain) return found
  const seesAll = !mayRedact(application, 'token:read') && !mayRedact(application, 'token:search')
  return {
    tokens: found.tokens,
    rest: async () => ({
      ...(await found.rest()),
      plan: await explainSearch(vault, caller, planned, { openedRows: found.opened, seesAll }),
    }),
  }
}
