import type { SQLInputValue } from 'node:sqlite'
import type { ListPosition, TimeSpan, TokenBranch, TokenQuery } from '../port.ts'

/** A query as SQL over the index alone: it yields (created_at, token_id), newest first, ties by id. */
export type IndexQuery = { readonly sql: string; readonly values: readonly SQLInputValue[] }

/**
 * One SELECT per start, all merged: each comes in the order of the index, and UNION drops the tokens that
 * several of them find.
 */
export const indexQuery = (query: TokenQuery): IndexQuery => {
  const branches = 'anyOf' in query ? query.anyOf : [query]
  const arms = branches
    .filter(({ groups }) => groups.every(group => group.length > 0))
    .flatMap(branch => toArms(query, branch, branches.length === 1))
  return arms.length === 0 ? nothing : join(' UNION ', arms)
}

const nothing: IndexQuery = { sql: 'SELECT NULL AS created_at, NULL AS token_id WHERE FALSE', values: [] }

/**
 * A first group of several terms takes an arm for each, or, next to other branches, one arm that is sorted:
 * SQLite merges at most 500 arms.
 */
const toArms = (query: TokenQuery, branch: TokenBranch, isAlone: boolean): IndexQuery[] => {
  if (branch.ids !== undefined)
    return [arm('tokens', [isIn('t.token_id', branch.ids)], query, branch, branch.groups)]
  const [first = [], ...others] = branch.groups
  const starts = isAlone ? first.map(term => [term]) : [first]
  return starts.map(terms => arm('terms', [isIn('t.term', terms)], query, branch, others))
}

const arm = (
  table: 'terms' | 'tokens',
  start: readonly IndexQuery[],
  { tenant, now, after }: TokenQuery,
  branch: TokenBranch,
  groups: TokenBranch['groups'],
): IndexQuery => {
  const { without = [], withoutIds = [], createdAt = {}, notCreatedAt = [] } = branch
  const conditions: IndexQuery[] = [
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

const join = (separator: string, parts: readonly IndexQuery[]): IndexQuery => ({
  sql: parts.map(part => part.sql).join(separator),
  values: parts.flatMap(part => part.values),
})

const not = ({ sql, values }: IndexQuery): IndexQuery => ({ sql: `NOT (${sql})`, values })

/** One value is compared, not listed: a list costs the order of the index, and with it a sort of all matches. */
const isIn = (column: string, values: readonly SQLInputValue[]): IndexQuery =>
  values.length === 1
    ? { sql: `${column} = ?`, values }
    : { sql: `${column} IN (${values.map(() => '?').join(',')})`, values }

const isWithin = ({ from, until }: TimeSpan): IndexQuery =>
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

const isBehind = ({ createdAt, id }: ListPosition): IndexQuery => ({
  sql: '(t.created_at < ? OR t.token_id > ?)',
  values: [createdAt, id],
})

const hasOneOf = (terms: readonly Uint8Array[]): IndexQuery => {
  const { sql, values } = isIn('e.term', terms)
  return {
    sql: `EXISTS (SELECT 1 FROM terms e WHERE e.tenant = t.tenant AND ${sql}
      AND e.created_at = t.created_at AND e.token_id = t.token_id)`,
    values,
  }
}
