import { indexEntry, matchRow, type Value } from '../columns.ts'
import type { IndexEntry, MatchRow } from '../rows.ts'
import type { Reading } from './dialect.ts'

type ReadRows = Reading['rows']

/** First reads the rest of the term that the previous page ended in, then the terms after it: no index takes both at once. */
export const scanTerms = async (
  read: ReadRows,
  tenant: number,
  after: IndexEntry | undefined,
  limit: number,
): Promise<IndexEntry[]> => {
  const page = (condition: string, values: readonly Value[], rows: number): Promise<IndexEntry[]> =>
    read(
      `SELECT term, created_at, token_id, expires_at, tag, signature FROM terms
       WHERE tenant = ? AND ${condition} ORDER BY term, created_at, token_id DESC LIMIT ?`,
      [tenant, ...values, rows],
      indexEntry,
    )
  if (after === undefined) return page('TRUE', [], limit)
  const { term, createdAt, tokenId } = after
  // The scan cannot continue from an unreadable time.
  const rest =
    createdAt < 0
      ? []
      : await page(
          'term = ? AND created_at >= ? AND (created_at > ? OR token_id < ?)',
          [term, createdAt, createdAt, tokenId],
          limit,
        )
  return rest.length === limit ? rest : [...rest, ...(await page('term > ?', [term], limit - rest.length))]
}

const nothing = new Uint8Array(0)

export const scanMatches = (
  read: ReadRows,
  tenant: number,
  after: MatchRow | undefined,
  limit: number,
): Promise<MatchRow[]> =>
  read(
    `SELECT term, tag, token_id FROM matches
     WHERE tenant = ? AND (term, tag) > (?, ?) ORDER BY term, tag LIMIT ?`,
    [tenant, after?.term ?? nothing, after?.tag ?? nothing, limit],
    matchRow,
  )
