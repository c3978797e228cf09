import type { CursorQuery } from '../contract/cursor-query.ts'
import { openCursor, sealCursor } from '../crypto/cursor.ts'
import { invalid } from '../domain/errors.ts'
import type { JsonObject } from '../domain/json.ts'
import { filterText, matchesFilter } from '../domain/token-filter.ts'
import { findByOpening } from './find-by-opening.ts'
import { listQuery, mayMeetHiddenFingerprints } from './list-query.ts'
import { type Matches, showTokens } from './show-tokens.ts'
import type { Caller, Vault } from './vault.ts'

/**
 * C25: the list of C24 without a count. A page starts behind the last token of the one before, wherever that
 * is, so its cost does not grow with the depth, and tokens that come or go meanwhile shift nothing.
 */
export const listTokensByCursor = async (
  vault: Vault,
  caller: Caller,
  { filter, start, size }: CursorQuery,
): Promise<JsonObject> => {
  const boundTo = filterText(filter)
  const after = start === undefined ? undefined : openCursor(caller.keys, start, boundTo)
  if (start !== undefined && after === undefined)
    throw invalid({ path: 'start', message: 'is not a cursor of this list; start again without it' })

  const plan = await listQuery(vault, caller, filter, vault.clock())
  const query = { ...plan.query, ...(after && { after }) }
  const matches: Matches = (token, transform) => matchesFilter(token, filter, transform)
  // One more than is shown tells whether there is a next page.
  const limit = size + 1
  const rows = mayMeetHiddenFingerprints(caller, filter)
    ? (await findByOpening(vault, caller, query, matches, { offset: 0, limit, stopWhenFull: true })).rows
    : await vault.store.listTokens(query, { offset: 0, limit })
  const last = rows[size - 1]
  const hasMore = last !== undefined && rows.length > size
  return {
    pagination: { page_size: size, ...(hasMore && { next: sealCursor(caller.keys, last, boundTo) }) },
    data: await showTokens(vault, caller, rows.slice(0, size), matches),
  }
}
