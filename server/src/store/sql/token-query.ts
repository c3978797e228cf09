import type { ListPosition } from '../../domain/tokens/list-position.ts'
import type { RowsWanted, TokenBranch, TokenQuery } from '../port.ts'
import { type Dialect, limited, type Sql } from './dialect.ts'
import { among, hasOneOf, isBetween, isWithin, join, mayHave, not, rowHas } from './token-conditions.ts'

/** A query, or a slice of it: the part up to and including `upTo`. */
export type SliceQuery = TokenQuery & { readonly upTo?: ListPosition }

/** Token rows, newest first, ties by id; only the rows of the page are fetched. */
export const pageQuery = <List>(
  query: SliceQuery,
  { offset, limit, bytesMax }: RowsWanted,
  dialect: Dialect<List>,
): Sql<List> => {
  const { sql, values } = indexQuery(query, dialect)
  const found = { sql: `${sql} ${inListOrder} ${limited} OFFSET ?`, values: [...values, limit, offset] }
  return dialect.rowsFound(query.tenant, found, bytesMax)
}

/** Sorted although it only counts: engines then merge the arms instead of gathering all matches to drop repetitions. */
export const countQuery = <List>(query: SliceQuery, dialect: Dialect<List>): Sql<List> => {
  const { sql, values } = indexQuery(query, dialect)
  return { sql: `SELECT count(*) AS n FROM (${sql} ${inListOrder} ${dialect.withoutEnd}) found`, values }
}

/**
 * The same query without those terms of its first groups that no token has. A list of everything starts from every type,
 * most of which a tenant never uses, and merging an empty one costs ten times as much as checking for it.
 */
export const withoutEmptyStarts = (
  query: TokenQuery,
  inUse: (tenant: number, terms: readonly Uint8Array[]) => readonly Uint8Array[],
): TokenQuery => {
  // Branches that start from every type share one list of them.
  const known = new Map<readonly Uint8Array[], readonly Uint8Array[]>()
  const reduced = (branch: TokenBranch): TokenBranch => {
    const [first = [], ...others] = branch.groups
    if (branch.ids !== undefined || first.length < 2) return branch
    const found = known.get(first) ?? inUse(query.tenant, first)
    known.set(first, found)
    return { ...branch, groups: [found, ...others] }
  }
  return 'anyOf' in query ? { ...query, anyOf: query.anyOf.map(reduced) } : { ...query, ...reduced(query) }
}

const inListOrder = 'ORDER BY 1 DESC, 2'

/**
 * Where the next slice ends: for each term that the query starts from, a SELECT that finds the last of the next
 * `entries` index entries. It finds no row if fewer are left.
 */
export const sliceEnds = (query: TokenQuery, entries: number): Sql[] =>
  branchesOf(query)
    .filter(({ ids }) => ids === undefined)
    .flatMap(({ groups: [first = []], createdAt = {} }) =>
      first.map(term => {
        const { sql, values } = join(' AND ', [
          { sql: 't.tenant = ? AND t.term = ?', values: [query.tenant, term] },
          ...isBetween(createdAt, query),
        ])
        return {
          sql: `SELECT t.created_at, t.token_id FROM terms t WHERE ${sql} ${inListOrder} LIMIT 1 OFFSET ?`,
          values: [...values, entries - 1],
        }
      }),
    )

/** How many places in the index the query starts from. */
export const startsOf = (query: TokenQuery): number =>
  branchesOf(query).reduce(
    (count, { ids, groups: [first = []] }) => count + (ids === undefined ? first.length : 1),
    0,
  )

/** Whether an index entry that the query starts from may be left out of the answer for reasons other than expiry. */
export const hasConditions = (query: TokenQuery): boolean =>
  branchesOf(query).some(
    ({ groups, ids, without, withoutIds, notCreatedAt, columns }) =>
      (ids === undefined && groups.length > 1) ||
      [without, withoutIds, notCreatedAt, columns].some(list => list?.length),
  )

/** The most look-ups that one index entry at the start of the query may take. */
export const lookUpsOf = (query: TokenQuery): number =>
  Math.max(
    0,
    ...branchesOf(query).map(({ groups, ids, without = [], columns = [] }) => {
      const lookedUp = ids === undefined ? groups.slice(1) : groups
      return lookedUp.flat().length + without.length + columns.length
    }),
  )

/** Drops branches that no token can meet because one of their groups has no term left. */
export const branchesOf = (query: TokenQuery): readonly TokenBranch[] =>
  ('anyOf' in query ? query.anyOf : [query]).filter(({ groups }) => groups.every(group => group.length > 0))

/**
 * (created_at, token_id) of everything the query finds, read from the index alone: one SELECT per start, all merged.
 * Each comes in index order, and the union drops tokens that several of them find.
 */
const indexQuery = <List>(query: SliceQuery, dialect: Dialect<List>): Sql<List> => {
  const armsOf = (isMerged: boolean): Sql<List>[] =>
    branchesOf(query).flatMap(branch => toArms(query, branch, isMerged, dialect))
  const merged = startsOf(query) <= mergedMax ? armsOf(true) : []
  const isShort = merged.length > 0 && merged.reduce((sum, { values }) => sum + values.length, 0) <= valuesMax
  const arms = isShort ? merged : armsOf(false)
  if (arms.length === 0) return nothing
  const selects = arms.map(({ sql }) => sql)
  return { sql: dialect.union(selects, inListOrder), values: arms.flatMap(({ values }) => values) }
}

const nothing: Sql = { sql: 'SELECT NULL AS created_at, NULL AS token_id WHERE FALSE', values: [] }

/** SQLite merges at most this many SELECTs. */
const mergedMax = 500
/** SQLite takes at most 32,766 values per statement. Each SELECT repeats the values of its branch, which limits how many are merged. */
const valuesMax = 30_000

/** The SELECTs of a branch: one for each term of its first group, or one for the whole group, whose matches are then sorted. */
const toArms = <List>(
  query: SliceQuery,
  branch: TokenBranch,
  isMerged: boolean,
  dialect: Dialect<List>,
): Sql<List>[] => {
  const isIn = among(dialect)
  if (branch.ids !== undefined)
    return [arm('tokens', dialect.hasId(query.tenant, branch.ids), query, branch, dialect)]
  const [first = [], ...others] = branch.groups
  const startingTerms = isMerged ? first.map(term => [term]) : [first]
  return startingTerms.map(terms => {
    const start = join(' AND ', [{ sql: 't.tenant = ?', values: [query.tenant] }, isIn('t.term', terms)])
    return arm('terms', start, query, { ...branch, groups: others }, dialect)
  })
}

/** One SELECT: its start, and all further conditions of the branch. */
const arm = <List>(
  table: 'terms' | 'tokens',
  start: Sql<List>,
  query: SliceQuery,
  branch: TokenBranch,
  dialect: Dialect<List>,
): Sql<List> => {
  const isIn = among(dialect)
  const { groups, without = [], withoutIds = [], createdAt = {}, notCreatedAt = [] } = branch
  const { columns = [] } = branch
  const { tenant } = query
  const lookUps = groups.length + columns.length + (without.length === 0 ? 0 : 1)
  const has = (terms: readonly Uint8Array[]): Sql<List> => hasOneOf(tenant, terms, dialect, lookUps)
  const conditions: Sql<List>[] = [
    start,
    ...isBetween(createdAt, query),
    { sql: '(t.expires_at IS NULL OR t.expires_at > ?)', values: [query.now] },
    ...notCreatedAt.map(span => not(isWithin(span))),
    ...(withoutIds.length === 0 ? [] : [not(isIn('t.token_id', withoutIds))]),
    ...(table === 'terms' ? mayHave(groups) : []),
    ...groups.map(group => has(group)),
    ...(without.length === 0 ? [] : [not(has(without))]),
    ...columns.map(condition => {
      const held = rowHas(tenant, condition, dialect, lookUps)
      return condition.negated ? not(held) : held
    }),
  ]
  const where = join(' AND ', conditions)
  return { sql: `SELECT t.created_at, t.token_id FROM ${table} t WHERE ${where.sql}`, values: where.values }
}
