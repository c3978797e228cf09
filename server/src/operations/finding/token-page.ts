import type { Json } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { countTokens } from './count-tokens.ts'
import { findByOpening } from './find-by-opening.ts'
import { numbered, type Page } from './page.ts'
import type { Planned } from './planned.ts'
import { rowsInBatches } from './rows-in-batches.ts'
import { showTokens } from './show-tokens.ts'

export type TokenPage = Page & {
  /** How many rows were read and opened so far. */
  readonly opened: number
}

/** C24: a page of tokens by number, with an exact count. */
export const tokenPage = (
  vault: Vault,
  caller: Caller,
  { query, matches, isExact, onlyTerms }: Planned,
  { page, size }: { page: number; size: number },
): TokenPage => {
  const position = { offset: (page - 1) * size, limit: size }
  let opened = 0
  let total: number | undefined

  async function* tokens(): AsyncGenerator<Json[]> {
    if (isExact) {
      for await (const rows of rowsInBatches(vault, caller, query, position)) {
        opened += rows.length
        yield await showTokens(vault, caller, rows, matches)
      }
      // Counting is unnecessary if the first page holds all tokens.
      const most = 'ids' in query && query.ids !== undefined ? query.ids.length : Number.POSITIVE_INFINITY
      if (position.offset === 0 && (opened < size || opened === most)) total = opened
      return
    }
    const found = await findByOpening(vault, caller, query, matches, position)
    opened = found.opened
    total = found.total
    for await (const rows of found.batches()) yield await showTokens(vault, caller, rows, matches)
  }

  return {
    tokens: tokens(),
    rest: async () => {
      total ??= await countTokens(vault, caller, query, onlyTerms)
      return { pagination: numbered({ page, size, total }) }
    },
    get opened() {
      return opened
    },
  }
}
