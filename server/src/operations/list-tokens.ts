import type { ListQuery } from '../contract/list-query.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { matchesFilter } from '../domain/tokens/token-filter.ts'
import { countTokens } from './finding/count-tokens.ts'
import { findByIndex } from './finding/find-by-index.ts'
import { findByOpening } from './finding/find-by-opening.ts'
import { numberedPage } from './finding/numbered-page.ts'
import { mayMeetHiddenFingerprints, planList } from './finding/plan-list.ts'
import { type Matches, showTokens } from './finding/show-tokens.ts'
import type { Caller, Vault } from './vault/vault.ts'

/** §4.3, C24: newest first, only what the caller may read, with an exact count of it. */
export const listTokens = async (
  vault: Vault,
  caller: Caller,
  { filter, page, size }: ListQuery,
): Promise<JsonObject> => {
  const { query, onlyTerms } = await planList(vault, caller, filter, vault.clock())
  const matches: Matches = (token, transform) => matchesFilter(token, filter, transform)
  const position = { offset: (page - 1) * size, limit: size }
  const { rows, total } = await (mayMeetHiddenFingerprints(caller, filter)
    ? findByOpening(vault, caller, query, matches, position)
    : findByIndex(vault, query, position, () => countTokens(vault, caller, query, onlyTerms)))
  return numberedPage({ page, size, total }, await showTokens(vault, caller, rows, matches))
}
