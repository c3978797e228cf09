import { pace } from '../../domain/pace.ts'
import { requireProgress } from '../../domain/tokens/list-position.ts'
import type { TokenQuery } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import type { Found } from './find-by-index.ts'
import { type Matches, visibleTransform } from './show-tokens.ts'

/**
 * For what no index can tell: opens every token that the query proposes, in list order. Each costs about 20 µs of CPU (measured
 * over 20,000 cards with one metadata key), and one of a megabyte some milliseconds, so other requests get their turn in between.
 */
export const findByOpening = async (
  vault: Vault,
  caller: Caller,
  proposed: TokenQuery,
  matches: Matches,
  { offset, limit, stopWhenFull }: { offset: number; limit: number; stopWhenFull?: true },
): Promise<Found> => {
  const rows: TokenRow[] = []
  let total = 0
  let opened = 0
  let query = proposed
  let batchRows: number = pace.searchFirstRows
  while (true) {
    const batch = await vault.store.listTokens(query, { offset: 0, limit: batchRows })
    for (const row of batch) {
      if (!caller.work.hasTurn) await caller.work.turn()
      opened++
      const token = openTokenRow(row, [], caller.keys)
      if (visibleTransform(caller, token, proposed.now, matches) === undefined) continue
      if (total >= offset && rows.length < limit) rows.push(row)
      total++
    }
    const last = batch.at(-1)
    const isFull = stopWhenFull === true && rows.length === limit
    if (last === undefined || batch.length < batchRows || isFull) return { rows, total, opened }
    const after = { createdAt: last.createdAt, id: last.id }
    requireProgress(query.after, after)
    query = { ...proposed, after }
    batchRows = rowsLike(batch)
    await caller.work.turn()
  }
}

/** How many rows of this size may be held in memory at one time. */
const rowsLike = (batch: readonly TokenRow[]): number => {
  const bytes = batch.reduce((sum, { sealed }) => sum + sealed.length, 0)
  const fitting = Math.floor((pace.searchBatchBytes * batch.length) / bytes)
  return Math.max(1, Math.min(fitting, pace.searchBatchRows))
}
