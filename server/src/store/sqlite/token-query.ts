import type { SQLInputValue } from 'node:sqlite'
import type { TokenQuery } from '../port.ts'

/** A query as SQL over the index alone: it yields (created_at, token_id), newest first, ties by id. */
export type IndexQuery = { readonly sql: string; readonly values: readonly SQLInputValue[] }

const marks = (count: number): string => Array(count).fill('?').join(',')

export const indexQuery = (query: TokenQuery): IndexQuery => {
  if (query.groups.some(group => group.length === 0)) return nothing
  return query.ids === undefined ? fromFirstGroup(query) : fromIds(query)
}

/** A group without terms is met by no token. */
const nothing: IndexQuery = { sql: 'SELECT NULL AS created_at, NULL AS token_id WHERE FALSE', values: [] }

/**
 * Several terms of the first group are merged, not sorted: each arm comes in index order, and UNION drops
 * tokens that two arms share.
 */
const fromFirstGroup = ({ tenant, groups, now }: TokenQuery): IndexQuery => {
  const [first = [], ...others] = groups
  const meets = others.map(group => meetsGroup(group.length)).join('')
  const arm = `SELECT t.created_at, t.token_id FROM terms t
    WHERE t.tenant = ? AND t.term = ? AND (t.expires_at IS NULL OR t.expires_at > ?)${meets}`
  return {
    sql: first.map(() => arm).join(' UNION '),
    values: first.flatMap(term => [tenant, term, now, ...others.flat()]),
  }
}

const fromIds = ({ tenant, groups, ids = [], now }: TokenQuery): IndexQuery => ({
  sql: `SELECT t.created_at, t.token_id FROM tokens t
    WHERE t.tenant = ? AND t.token_id IN (${marks(ids.length)}) AND (t.expires_at IS NULL OR t.expires_at > ?)${groups
      .map(group => meetsGroup(group.length))
      .join('')}`,
  values: [tenant, ...ids, now, ...groups.flat()],
})

const meetsGroup = (terms: number): string =>
  ` AND EXISTS (SELECT 1 FROM terms e WHERE e.tenant = t.tenant AND e.term IN (${marks(terms)})
      AND e.created_at = t.created_at AND e.token_id = t.token_id)`
