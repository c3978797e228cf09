import type { SQLInputValue, StatementSync } from 'node:sqlite'
import type { IndexEntry, MatchRow } from '../rows.ts'
import * as columns from './columns.ts'

type Prepared = (sql: string) => StatementSync

/** The rest of the term that the page before ended in, then what follows: one condition for both would be no seek. */
export const scanTerms = (
  prepared: Prepared,
  tenant: number,
  after: IndexEntry | undefined,
  limit: number,
): IndexEntry[] => {
  const page = (condition: string, values: readonly SQLInputValue[], rows: number): IndexEntry[] =>
    prepared(
      `SELECT * FROM terms WHERE tenant = ? AND ${condition} ORDER BY term, created_at DESC, token_id LIMIT ?`,
    )
      .all(tenant, ...values, rows)
      .map(columns.indexEntry)
  if (after === undefined) return page('TRUE', [], limit)
  const { term, createdAt, tokenId } = after
  const rest = page(
    'term = ? AND created_at <= ? AND (created_at < ? OR token_id > ?)',
    [term, createdAt, createdAt, tokenId],
    limit,
  )
  return rest.length === limit ? rest : [...rest, ...page('term > ?', [term], limit - rest.length)]
}

export const scanMatches = (
  prepared: Prepared,
  tenant: number,
  after: MatchRow | undefined,
  limit: number,
): MatchRow[] =>
  prepared('SELECT * FROM matches WHERE tenant = ? AND (term, tag) > (?, ?) ORDER BY term, tag LIMIT ?')
    .all(tenant, after?.term ?? new Uint8Array(0), after?.tag ?? new Uint8Array(0), limit)
    .map(columns.matchRow)

export const absentTerms = (
  prepared: Prepared,
  tenant: number,
  entries: readonly IndexEntry[],
): IndexEntry[] => {
  const find = prepared(
    `SELECT 1 FROM terms WHERE tenant = ? AND term = ? AND created_at = ? AND token_id = ?
       AND expires_at IS ? AND tag IS ?`,
  )
  return entries.filter(
    ({ term, createdAt, tokenId, expiresAt, tag }) =>
      find.get(tenant, term, createdAt, tokenId, expiresAt, tag) === undefined,
  )
}
