import type { InstantRange } from '../../domain/time/instant.ts'
import type { ListPosition } from '../../domain/tokens/list-position.ts'
import type { ColumnCondition } from '../port.ts'
import { signatureOf } from '../rows.ts'
import type { Dialect, Sql } from './dialect.ts'

export const join = <List>(separator: string, parts: readonly Sql<List>[]): Sql<List> => ({
  sql: parts.map(part => part.sql).join(separator),
  values: parts.flatMap(part => part.values),
})

export const not = <List>({ sql, values }: Sql<List>): Sql<List> => ({ sql: `NOT (${sql})`, values })

type IsIn<List> = Dialect<List>['oneOf']

/** A single value is compared with `=`: a list would lose the index order, and all matches would have to be sorted. */
export const among =
  <List>({ oneOf }: Dialect<List>): IsIn<List> =>
  (column, values) => {
    const [only] = values
    return only !== undefined && values.length === 1
      ? { sql: `${column} = ?`, values: [only] }
      : oneOf(column, values)
  }

export const isWithin = ({ from, until }: InstantRange, column = 't.created_at'): Sql =>
  join<never>(' AND ', [
    ...(from === undefined ? [] : [{ sql: `${column} >= ?`, values: [from] }]),
    ...(until === undefined ? [] : [{ sql: `${column} < ?`, values: [until] }]),
    { sql: 'TRUE', values: [] },
  ])

type Bounds = { readonly after?: ListPosition; readonly upTo?: ListPosition }

/**
 * Within the span, after `after`, up to and including `upTo`. Their times are combined into one start and one end: the
 * index uses only one of each, and any further one would be compared with every entry on the way to a deep page.
 */
export const isBetween = ({ from, until }: InstantRange, { after, upTo }: Bounds): Sql[] => {
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

/** Longer groups are not worth checking, because nearly every signature matches one of their terms; nor are further groups. */
const comparedTermsMax = 8
const comparedGroupsMax = 4

/**
 * The condition that the token of entry `t` may have a term of each group, according to its signature. It saves the later conditions
 * a look-up for each term, on an index page that is seldom in memory.
 */
export const mayHave = (groups: readonly (readonly Uint8Array[])[]): Sql[] => {
  const all = signatureOf(groups.flatMap(group => (group.length === 1 ? group : [])))
  const choices = groups
    .filter(group => group.length > 1 && group.length <= comparedTermsMax)
    .slice(0, comparedGroupsMax)
  const conditions = [
    ...(all === 0 ? [] : [hasBits(all)]),
    ...choices.map(group => anyOf(group.map(term => hasBits(signatureOf([term]))))),
  ]
  return conditions.length === 0 ? [] : [join(' AND ', conditions)]
}

const hasBits = (mask: number): Sql => ({ sql: '(t.signature & ?) = ?', values: [mask, mask] })
const anyOf = (choices: readonly Sql[]): Sql => {
  const { sql, values } = join(' OR ', choices)
  return { sql: `(${sql})`, values }
}

/**
 * The condition that token `t` has one of the terms, as one of so many look-ups of a SELECT. The tenant is passed as a
 * value, because planners do not take it from the outer row behind a NOT.
 */
export const hasOneOf = <List>(
  tenant: number,
  terms: readonly Uint8Array[],
  dialect: Dialect<List>,
  lookUps = 1,
): Sql<List> => {
  const { sql, values } = among(dialect)('e.term', terms)
  return {
    sql: `EXISTS (SELECT 1 FROM terms e WHERE e.tenant = ? AND ${sql}
      AND e.created_at = t.created_at AND e.token_id = t.token_id ${dialect.perRow(lookUps)})`,
    values: [tenant, ...values],
  }
}

const columnNames = { createdBy: 'created_by', modifiedBy: 'modified_by', modifiedAt: 'modified_at' } as const

export const rowHas = (
  tenant: number,
  condition: ColumnCondition,
  { perRow }: Pick<Dialect, 'perRow'>,
  lookUps = 1,
): Sql => {
  const column = `k.${columnNames[condition.column]}`
  const { sql, values }: Sql =
    'is' in condition
      ? { sql: `${column} = ?`, values: [condition.is] }
      : join(' AND ', [isWithin(condition.within, column), { sql: `${column} IS NOT NULL`, values: [] }])
  return {
    sql: `EXISTS (SELECT 1 FROM tokens k WHERE k.tenant = ? AND k.token_id = t.token_id AND ${sql} ${perRow(lookUps)})`,
    values: [tenant, ...values],
  }
}
