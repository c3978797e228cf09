import type { InstantRange } from '../../domain/instant.ts'
import type { ListPosition } from '../../domain/token.ts'
import type { ColumnCondition, TokenBranch, TokenQuery } from '../port.ts'
import { signatureOf } from '../term-signature.ts'
import { type Dialect, limited, type Sql } from './dialect.ts'

/** A query, or a slice of it: what comes up to and including `upTo`. */
export type SliceQuery = TokenQuery & { readonly upTo?: ListPosition }

/** Rows of tokens, newest first, ties by id; only those of the page are fetched. */
export const pageQuery = <List>(
  query: SliceQuery,
  { offset, limit }: { offset: number; limit: number },
  dialect: Dialect<List>,
): Sql<List> => {
  const { sql, values } = indexQuery(query, dialect)
  return dialect.rowsFound(query.tenant, {
    sql: `${sql} ${inListOrder} ${limited} OFFSET ?`,
    values: [...values, limit, offset],
  })
}

/** Sorted although it only counts: engines then merge the arms, and do not gather all matches to drop repetitions. */
export const countQuery = <List>(query: SliceQuery, dialect: Dialect<List>): Sql<List> => {
  const { sql, values } = indexQuery(query, dialect)
  return { sql: `SELECT count(*) AS n FROM (${sql} ${inListOrder} ${dialect.withoutEnd}) found`, values }
}

/**
 * The same query without those terms of its first group that no token has. A list of everything starts from
 * every type, most of which a tenant never uses: merging an empty one costs ten times as much as asking for it.
 */
export const withoutEmptyStarts = (
  query: TokenQuery,
  inUse: (tenant: number, terms: readonly Uint8Array[]) => readonly Uint8Array[],
): TokenQuery => {
  if ('anyOf' in query || query.ids !== undefined) return query
  const [first = [], ...others] = query.groups
  return first.length < 2 ? query : { ...query, groups: [inUse(query.tenant, first), ...others] }
}

const inListOrder = 'ORDER BY 1 DESC, 2'

/**
 * Where the next slice ends: one SELECT for each term that the query starts from, which finds the last of the next so
 * many index entries. It finds no row where fewer are left.
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

/** Whether an index entry that the query starts from may be left out of the answer for more than its expiry. */
export const hasConditions = (query: TokenQuery): boolean =>
  branchesOf(query).some(
    ({ groups, ids, without, untagged, withoutUntagged, withoutIds, notCreatedAt, columns }) =>
      (ids === undefined && groups.length > 1) ||
      [without, untagged, withoutUntagged, withoutIds, notCreatedAt, columns].some(list => list?.length),
  )

/** Without branches that no token meets, because no term is left in one of their groups. */
const branchesOf = (query: TokenQuery): readonly TokenBranch[] =>
  ('anyOf' in query ? query.anyOf : [query]).filter(({ groups }) => groups.every(group => group.length > 0))

/**
 * (created_at, token_id) of all that the query finds, read off the index alone: one SELECT per start, all
 * merged. Each comes in the order of the index, and the union drops the tokens that several of them find.
 */
const indexQuery = <List>(query: SliceQuery, dialect: Dialect<List>): Sql<List> => {
  const branches = branchesOf(query)
  const arms = branches.flatMap(branch => toArms(query, branch, branches.length === 1, dialect))
  if (arms.length === 0) return nothing
  const selects = arms.map(({ sql }) => sql)
  return { sql: dialect.union(selects, inListOrder), values: arms.flatMap(({ values }) => values) }
}

const nothing: Sql = { sql: 'SELECT NULL AS created_at, NULL AS token_id WHERE FALSE', values: [] }

/**
 * The SELECTs that a branch takes: one for each term of its first group. Next to other branches it is one for the whole
 * group, whose matches are then sorted, because SQLite merges at most 500.
 */
const toArms = <List>(
  query: SliceQuery,
  branch: TokenBranch,
  isAlone: boolean,
  dialect: Dialect<List>,
): Sql<List>[] => {
  const isIn = among(dialect)
  if (branch.ids !== undefined)
    return [arm('tokens', [dialect.hasId(query.tenant, branch.ids)], query, branch, branch.groups, dialect)]
  const [first = [], ...others] = branch.groups
  const starts = isAlone ? first.map(term => [term]) : [first]
  return starts.map(terms => {
    const start = join(' AND ', [{ sql: 't.tenant = ?', values: [query.tenant] }, isIn('t.term', terms)])
    const [only, ...more] = terms
    const isOnly = (term: Uint8Array): boolean =>
      only !== undefined && more.length === 0 && Buffer.compare(term, only) === 0
    const { untagged = [] } = branch
    if (!untagged.some(isOnly)) return arm('terms', [start], query, branch, others, dialect)
    // The index entry at hand has the tag, so this term needs no look-up.
    const rest = { ...branch, untagged: untagged.filter(term => !isOnly(term)) }
    return arm('terms', [start, { sql: 't.tag IS NULL', values: [] }], query, rest, others, dialect)
  })
}

const arm = <List>(
  table: 'terms' | 'tokens',
  start: readonly Sql<List>[],
  query: SliceQuery,
  branch: TokenBranch,
  groups: TokenBranch['groups'],
  dialect: Dialect<List>,
): Sql<List> => {
  const isIn = among(dialect)
  const { without = [], withoutIds = [], createdAt = {}, notCreatedAt = [] } = branch
  const { untagged = [], withoutUntagged = [], columns = [] } = branch
  const { tenant } = query
  const has = (terms: readonly Uint8Array[], more?: string): Sql<List> =>
    hasOneOf(tenant, terms, dialect, more)
  const conditions: Sql<List>[] = [
    ...start,
    ...isBetween(createdAt, query),
    { sql: '(t.expires_at IS NULL OR t.expires_at > ?)', values: [query.now] },
    ...notCreatedAt.map(span => not(isWithin(span))),
    ...(withoutIds.length === 0 ? [] : [not(isIn('t.token_id', withoutIds))]),
    ...(table === 'terms' ? mayHave([...groups, ...untagged.map(term => [term])]) : []),
    ...groups.map(group => has(group)),
    ...(without.length === 0 ? [] : [not(has(without))]),
    ...untagged.map(term => has([term], 'AND e.tag IS NULL')),
    ...(withoutUntagged.length === 0 ? [] : [not(has(withoutUntagged, 'AND e.tag IS NULL'))]),
    ...columns.map(condition => {
      const held = rowHas(tenant, condition, dialect)
      return condition.negated ? not(held) : held
    }),
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

/** A single value is compared with `=`: a list would lose the order of the index, and all matches be sorted. */
const among =
  <List>({ oneOf }: Dialect<List>): IsIn<List> =>
  (column, values) => {
    const [only] = values
    return only !== undefined && values.length === 1
      ? { sql: `${column} = ?`, values: [only] }
      : oneOf(column, values)
  }

const isWithin = ({ from, until }: InstantRange, column = 't.created_at'): Sql =>
  join<never>(' AND ', [
    ...(from === undefined ? [] : [{ sql: `${column} >= ?`, values: [from] }]),
    ...(until === undefined ? [] : [{ sql: `${column} < ?`, values: [until] }]),
    { sql: 'TRUE', values: [] },
  ])

/**
 * Within the span, behind `after`, up to `upTo`. All their times become one start and one end: the index takes no more
 * than one of each, and another would be compared with every entry on the way to a deep page.
 */
const isBetween = ({ from, until }: InstantRange, { after, upTo }: SliceQuery): Sql[] => {
  const starts = [from, upTo?.createdAt].filter(start => start !== undefined)
  const ends = [until, after && after.createdAt + 1].filter(end => end !== undefined)
  return [
    isWithin({
      ...(starts.length > 0 && { from: Math.max(...starts) }),
      ...(ends.length > 0 && { until: Math.min(...ends) }),
    }),
    ...(after ? [{ sql: '(t.created_at < ? OR t.token_id > ?)', values: [after.createdAt, after.id] }] : []),
    ...(upTo ? [{ sql: '(t.created_at > ? OR t.token_id <= ?)', values: [upTo.createdAt, upTo.id] }] : []),
  ]
}

/** Nearly every signature has the bits of some term of a longer group. */
const comparedTermsMax = 8

/**
 * That the token of the entry `t` may have a term of each group, as far as its signature tells. It spares the
 * conditions behind it a look-up for each term, on a page of the index that is seldom in memory.
 */
const mayHave = (groups: readonly (readonly Uint8Array[])[]): Sql[] => {
  const all = signatureOf(groups.flatMap(group => (group.length === 1 ? group : [])))
  const choices = groups.filter(group => group.length > 1 && group.length <= comparedTermsMax)
  const conditions = [
    ...(all === 0 ? [] : [hasBits(all)]),
    ...choices.map(group => anyOf(group.map(term => hasBits(signatureOf([term]))))),
  ]
  return conditions.length === 0 ? [] : [unlessUnsigned(join(' AND ', conditions))]
}

const hasBits = (mask: number): Sql => ({ sql: '(t.signature & ?) = ?', values: [mask, mask] })
const anyOf = (choices: readonly Sql[]): Sql => {
  const { sql, values } = join(' OR ', choices)
  return { sql: `(${sql})`, values }
}
const unlessUnsigned = ({ sql, values }: Sql): Sql => ({ sql: `(t.signature IS NULL OR ${sql})`, values })

/**
 * That the token `t` has one of the terms. The tenant is given as a value: behind a NOT, no planner takes it from the
 * outer row.
 */
export const hasOneOf = <List>(
  tenant: number,
  terms: readonly Uint8Array[],
  dialect: Dialect<List>,
  more = '',
): Sql<List> => {
  const { sql, values } = among(dialect)('e.term', terms)
  return {
    sql: `EXISTS (SELECT 1 FROM terms e WHERE e.tenant = ? AND ${sql}
      AND e.created_at = t.created_at AND e.token_id = t.token_id ${more} ${dialect.perRow})`,
    values: [tenant, ...values],
  }
}

const columnNames = { createdBy: 'created_by', modifiedBy: 'modified_by', modifiedAt: 'modified_at' } as const

const rowHas = (tenant: number, condition: ColumnCondition, { perRow }: { perRow: string }): Sql => {
  const column = `k.${columnNames[condition.column]}`
  const { sql, values }: Sql =
    'is' in condition
      ? { sql: `${column} = ?`, values: [condition.is] }
      : join(' AND ', [isWithin(condition.within, column), { sql: `${column} IS NOT NULL`, values: [] }])
  return {
    sql: `EXISTS (SELECT 1 FROM tokens k WHERE k.tenant = ? AND k.token_id = t.token_id AND ${sql} ${perRow})`,
    values: [tenant, ...values],
  }
}
