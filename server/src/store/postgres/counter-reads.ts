import * as columns from '../columns.ts'
import type { Store } from '../port.ts'
import type { Sql } from '../sql/dialect.ts'
import { hasOneOf } from '../sql/token-conditions.ts'
import { type List, postgresDialect } from './dialect.ts'
import type { ReadingSide } from './reading-side.ts'

export const counterReads = ({ ask, rows }: ReadingSide) =>
  ({
    readCounts: async (tenant, names, now, terms) => {
      const { sql, values } = countsAtOnce(tenant, terms)
      const counts = await ask<columns.Columns>(sql, [tenant, names, now, tenant, ...values])
      return {
        counters: counts.filter(row => row.type === null).map(columns.counter),
        expired: new Map(
          counts.filter(row => row.type !== null).map(row => [String(row.type), Number(row.value)]),
        ),
      }
    },
    readCounters: (tenant, names) => rows(countersByName, [tenant, names], columns.counter),
    listCounters: tenant => rows(countersOf('TRUE'), [tenant], columns.counter),
  }) satisfies Partial<Store>

/**
 * Leaves out counters at zero that are still to be removed (zero-counters.ts). Null for a sum that the vault never writes: it may be
 * too large for a bigint, and the statement would fail.
 */
const countersOf = (condition: string): string =>
  `SELECT name, CASE WHEN abs(sum(value)) <= ${Number.MAX_SAFE_INTEGER} THEN sum(value)::bigint END AS value, max(at) AS at
   FROM counters WHERE tenant = ? AND ${condition} GROUP BY name HAVING sum(value) <> 0 OR max(at) IS NOT NULL`
const countersByName = countersOf('name = ANY (?)')

/** One statement, so both parts are read at one moment. Counters come without a type. */
const countsAtOnce = (tenant: number, terms: readonly Uint8Array[] | undefined): Sql<List> => {
  const having = terms && hasOneOf(tenant, terms, postgresDialect)
  return {
    sql: `
      SELECT c.name, c.value, c.at, NULL AS type FROM (${countersByName}) c
      UNION ALL
      SELECT NULL, count(*), NULL, t.type FROM tokens t
      WHERE t.expires_at <= ? AND t.tenant = ? AND ${having?.sql ?? 'TRUE'} GROUP BY t.type`,
    values: having?.values ?? [],
  }
}
