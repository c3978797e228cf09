import type { SQLInputValue } from 'node:sqlite'
import type { ListPosition, TimeSpan, TokenBranch, TokenQuery } from '../port.ts'
import { tokenColumns } from './columns.ts'

type Sql = { readonly sql: string; readonly values: readonly SQLInputValue[] }

/** Rows of tokens, newest first, ties by id; only those of the page are fetched. */
export const pageQuery = (query: TokenQuery, { offset, limit }: { offset: number; limit: number }): Sql => {
  const { sql, values } = indexQuery(query)
  return {
    sql: `SELECT ${tokenColumns}
      FROM (${sql} ${inListOrder} LIMIT ? OFFSET ?) page
      CROSS JOIN tokens k ON k.tenant = ? AND k.token_id = page.token_id
      ORDER BY page.created_at DESC, page.token_id`,
    values: [...values, limit, offset, query.tenant],
  }
}

/** The order makes SQLite merge the arms; without it, it would gather all matches to drop repetitions. */
export const countQuery = (query: TokenQuery): Sql => {
  const { sql, values } = indexQuery(query)
  return { sql: `SELECT count(*) AS n FROM (${sql} ${inListOrder} LIMIT -1)`, values }
}

/**
 * The same query without those terms of its first group that no token has. A list of everything starts from
 * every type, most of which a tenant never uses: to merge each costs ten times as much as to ask for it.
 */
export const withoutEmptyStarts = (
  query: TokenQuery,
  hasTerm: (tenant: number, term: Uint8Array) => boolean,
): TokenQuery => {
  if ('anyOf' in query || query.ids !== undefined) return query
  const [first = [], ...others] = query.groups
  if (first.length < 2) return query
  return { ...query, groups: [first.filter(term => hasTerm(query.tenant, term)), ...others] }
}

const inListOrder = 'ORDER BY 1 DESC, 2'

/**
 * (created_at, token_id) of all that the query holds, read off the index alone: one SELECT per start, all
 * merged. Each comes in the order of the index, and UNION drops the tokens that several of them find.
 */
const indexQuery = (query: TokenQuery): Sql => {
  const branches = 'anyOf' in query ? query.anyOf : [query]
  const arms = branches
    .filter(({ groups }) => groups.every(group => group.length > 0))
    .flatMap(branch => toArms(query, branch, branches.length === 1))
  return arms.length === 0 ? nothing : join(' UNION ', arms)
}

const nothing: Sql = { sql: 'SELECT NULL AS created_at, NULL AS token_id WHERE FALSE', values: [] }

/**
 * A first group of several terms takes an arm for each, or, next to other branches, one arm that is sorted:
 * SQLite merges at most 500 arms.
 */
const toArms = (query: TokenQuery, branch: TokenBranch, isAlone: boolean): Sql[] => {
  if (branch.ids !== undefined)
    return [arm('tokens', [isIn('t.token_id', branch.ids)], query, branch, branch.groups)]
  const [first = [], ...others] = branch.groups
  const starts = isAlone ? first.map(term => [term]) : [first]
  return starts.map(terms => arm('terms', [isIn('t.term', terms)], query, branch, others))
}

const arm = (
  table: 'terms' | 'tokens',
  start: readonly Sql[],
  { tenant, now, after }: TokenQuery,
  branch: TokenBranch,
  groups: TokenBranch['groups'],
): Sql => {
  const { without = [], withoutIds = [], createdAt = {}, notCreatedAt = [] } = branch
  const conditions: Sql[] = [
    { sql: 't.tenant = ?', values: [tenant] },
    ...start,
    ...(after === undefined ? [isWithin(createdAt)] : [isWithin(upTo(createdAt, after)), isBehind(after)]),
    { sql: '(t.expires_at IS NULL OR t.expires_at > ?)', values: [now] },
    ...notCreatedAt.map(span => not(isWithin(span))),
    ...(withoutIds.length === 0 ? [] : [not(isIn('t.token_id', withoutIds))]),
    ...groups.map(hasOneOf),
    ...(without.length === 0 ? [] : [not(hasOneOf(without))]),
  ]
  const where = join(' AND ', conditions)
  return { sql: `SELECT t.created_at, t.token_id FROM ${table} t WHERE ${where.sql}`, values: where.values }
}

const join = (separator: string, parts: readonly Sql[]): Sql => ({
  sql: parts.map(part => part.sql).join(separator),
  values: parts.flatMap(part => part.values),
})

const not = ({ sql, values }: Sql): Sql => ({ sql: `NOT (${sql})`, values })

/** One value is compared, not listed: a list costs the order of the index, and with it a sort of all matches. */
const isIn = (column: string, values: readonly SQLInputValue[]): Sql =>
  values.length === 1
    ? { sql: `${column} = ?`, values }
    : { sql: `${column} IN (${values.map(() => '?').join(',')})`, values }

const isWithin = ({ from, until }: TimeSpan): Sql =>
  join(' AND ', [
    ...(from === undefined ? [] : [{ sql: 't.created_at >= ?', values: [from] }]),
    ...(until === undefined ? [] : [{ sql: 't.created_at < ?', values: [until] }]),
    { sql: 'TRUE', values: [] },
  ])

/** One upper end, the lower of two: the index takes only one, and the other would be paid for at each depth. */
const upTo = ({ until, ...rest }: TimeSpan, after: ListPosition): TimeSpan => ({
  ...rest,
  until: until === undefined ? after.createdAt + 1 : Math.min(until, after.createdAt + 1),
})

const isBehind = ({ createdAt, id }: ListPosition): Sql => ({
  sql: '(t.created_at < ? OR t.token_id > ?)',
  values: [createdAt, id],
})

const hasOneOf = (terms: readonly Uint8Array[]): Sql => {
  const { sql, values } = isIn('e.term', terms)
  return {
    sql: `EXISTS (SELECT 1 FROM terms e WHERE e.tenant = t.tenant AND ${sql}
      AND e.created_at = t.created_at AND e.token_id = t.token_id)`,
    values,
  }
}
