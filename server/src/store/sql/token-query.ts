import type { ListPosition, TimeSpan, TokenBranch, TokenQuery } from '../port.ts'
import { tokenColumns } from './columns.ts'
import type { Dialect, Sql } from './dialect.ts'

/** Rows of tokens, newest first, ties by id; only those of the page are fetched. */
export const pageQuery = <List>(
  query: TokenQuery,
  { offset, limit }: { offset: number; limit: number },
  dialect: Dialect<List>,
): Sql<List> => {
  const { sql, values } = indexQuery(query, dialect)
  return {
    sql: `SELECT ${tokenColumns}
      FROM (${sql} ${inListOrder} LIMIT ? OFFSET ?) page
      ${dialect.joinTokens('page.token_id')}
      ORDER BY page.created_at DESC, page.token_id`,
    values: [...values, limit, offset, query.tenant],
  }
}

/** The order makes the engine merge the arms; without it, it would gather all matches to drop repetitions. */
export const countQuery = <List>(query: TokenQuery, dialect: Dialect<List>): Sql<List> => {
  const { sql, values } = indexQuery(query, dialect)
  return { sql: `SELECT count(*) AS n FROM (${sql} ${inListOrder} ${dialect.withoutEnd})`, values }
}

const inListOrder = 'ORDER BY 1 DESC, 2'

/**
 * (created_at, token_id) of all that the query holds, read off the index alone: one SELECT per start, all
 * merged. Each comes in the order of the index, and the union drops the tokens that several of them find.
 */
const indexQuery = <List>(query: TokenQuery, dialect: Dialect<List>): Sql<List> => {
  const branches = 'anyOf' in query ? query.anyOf : [query]
  const arms = branches
    .filter(({ groups }) => groups.every(group => group.length > 0))
    .flatMap(branch => toArms(query, branch, branches.length === 1, dialect))
  return arms.length === 0
    ? nothing
    : {
        sql: dialect.union(
          arms.map(({ sql }) => sql),
          inListOrder,
        ),
        values: arms.flatMap(({ values }) => values),
      }
}

const nothing: Sql = { sql: 'SELECT NULL AS created_at, NULL AS token_id WHERE FALSE', values: [] }

/**
 * A first group of several terms takes an arm for each, or, next to other branches, one arm that is sorted:
 * SQLite merges at most 500 arms.
 */
const toArms = <List>(
  query: TokenQuery,
  branch: TokenBranch,
  isAlone: boolean,
  dialect: Dialect<List>,
): Sql<List>[] => {
  const isIn = among(dialect)
  const means = { isIn, perRow: dialect.perRow }
  if (branch.ids !== undefined)
    return [arm('tokens', isIn('t.token_id', branch.ids), query, branch, branch.groups, means)]
  const [first = [], ...others] = branch.groups
  const starts = isAlone ? first.map(term => [term]) : [first]
  return starts.map(terms => arm('terms', isIn('t.term', terms), query, branch, others, means))
}

const arm = <List>(
  table: 'terms' | 'tokens',
  start: Sql<List>,
  { tenant, now, after }: TokenQuery,
  branch: TokenBranch,
  groups: TokenBranch['groups'],
  { isIn, perRow }: { isIn: IsIn<List>; perRow: string },
): Sql<List> => {
  const { without = [], withoutIds = [], createdAt = {}, notCreatedAt = [] } = branch
  /** Names the tenant itself: behind a NOT, no planner follows the comparison with the outer row. */
  const hasOneOf = (terms: readonly Uint8Array[]): Sql<List> => {
    const { sql, values } = isIn('e.term', terms)
    return {
      sql: `EXISTS (SELECT 1 FROM terms e WHERE e.tenant = ? AND ${sql}
        AND e.created_at = t.created_at AND e.token_id = t.token_id ${perRow})`,
      values: [tenant, ...values],
    }
  }
  const conditions: Sql<List>[] = [
    { sql: 't.tenant = ?', values: [tenant] },
    start,
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

const join = <List>(separator: string, parts: readonly Sql<List>[]): Sql<List> => ({
  sql: parts.map(part => part.sql).join(separator),
  values: parts.flatMap(part => part.values),
})

const not = <List>({ sql, values }: Sql<List>): Sql<List> => ({ sql: `NOT (${sql})`, values })

type IsIn<List> = Dialect<List>['oneOf']

/** One value is compared, not listed: a list costs the order of the index, and with it a sort of all matches. */
const among =
  <List>({ oneOf }: Dialect<List>): IsIn<List> =>
  (column, values) => {
    const [only] = values
    return only !== undefined && values.length === 1
      ? { sql: `${column} = ?`, values: [only] }
      : oneOf(column, values)
  }

const isWithin = ({ from, until }: TimeSpan): Sql =>
  join<never>(' AND ', [
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
