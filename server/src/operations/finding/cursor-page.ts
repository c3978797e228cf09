import { openCursor, sealCursor } from '../../crypto/cursor.ts'
import { invalid } from '../../domain/errors.ts'
import type { Json } from '../../domain/json/json.ts'
import type { ListPosition } from '../../domain/tokens/list-position.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { findByOpening } from './find-by-opening.ts'
import type { Page } from './page.ts'
import type { Planned } from './planned.ts'
import { rowsInBatches } from './rows-in-batches.ts'
import { showTokens } from './show-tokens.ts'

/** The requested page. A cursor is valid only for the list or search that it was made for, which `boundTo` names. */
export type WantedPage = {
  readonly start: string | undefined
  readonly size: number
  readonly boundTo: string
}

/**
 * C25: a page starts right after the last token of the previous one. So its cost does not grow with its depth, and tokens that
 * come or go in between shift nothing.
 */
export const cursorPage = (
  vault: Vault,
  caller: Caller,
  { query, matches, isExact }: Planned,
  { start, size, boundTo }: WantedPage,
): Page => {
  const after = start === undefined ? undefined : openCursor(caller.keys, start, boundTo)
  if (start !== undefined && after === undefined)
    throw invalid({ path: 'start', message: 'is not a cursor of this list; start again without it' })

  const rest = { ...query, ...(after && { after }) }
  // Reads one token more than it shows, to learn whether there is a next page.
  const position = { offset: 0, limit: size + 1 }
  let seen = 0
  let last: ListPosition | undefined

  async function* tokens(): AsyncGenerator<Json[]> {
    const batches = isExact
      ? rowsInBatches(vault, caller, rest, position)
      : (await findByOpening(vault, caller, rest, matches, { ...position, stopWhenFull: true })).batches()
    for await (const rows of batches) {
      const shown = rows.slice(0, size - seen)
      last = shown.at(-1) ?? last
      seen += rows.length
      yield await showTokens(vault, caller, shown, matches)
    }
  }

  return {
    tokens: tokens(),
    rest: async () => {
      const next = last && seen > size ? { next: sealCursor(caller.keys, last, boundTo) } : {}
      return { pagination: { page_size: size, ...next } }
    },
  }
}
