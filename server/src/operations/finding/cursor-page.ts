import { openCursor, sealCursor } from '../../crypto/cursor.ts'
import { invalid } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { findByOpening } from './find-by-opening.ts'
import type { Planned } from './planned.ts'
import { showTokens } from './show-tokens.ts'

/** The page that is asked for. A cursor is valid only for the list or search it was made for, which `boundTo` names. */
export type WantedPage = {
  readonly start: string | undefined
  readonly size: number
  readonly boundTo: string
}

/**
 * C25. A page starts right after the last token of the previous one, so its cost does not grow with the depth, and tokens that
 * come or go meanwhile shift nothing.
 */
export const cursorPage = async (
  vault: Vault,
  caller: Caller,
  { query, matches, isExact }: Planned,
  { start, size, boundTo }: WantedPage,
): Promise<JsonObject> => {
  const after = start === undefined ? undefined : openCursor(caller.keys, start, boundTo)
  if (start !== undefined && after === undefined)
    throw invalid({ path: 'start', message: 'is not a cursor of this list; start again without it' })

  const rest = { ...query, ...(after && { after }) }
  // One token more than is shown tells whether there is a next page.
  const limit = size + 1
  const rows = isExact
    ? await vault.store.listTokens(rest, { offset: 0, limit })
    : (await findByOpening(vault, caller, rest, matches, { offset: 0, limit, stopWhenFull: true })).rows
  const last = rows[size - 1]
  const hasMore = last !== undefined && rows.length > size
  return {
    pagination: { page_size: size, ...(hasMore && { next: sealCursor(caller.keys, last, boundTo) }) },
    data: await showTokens(vault, caller, rows.slice(0, size), matches),
  }
}
