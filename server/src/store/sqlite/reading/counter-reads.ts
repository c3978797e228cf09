import * as columns from '../../columns.ts'
import type { Store } from '../../port.ts'
import type { Counter } from '../../rows.ts'
import { hasOneOf } from '../../sql/token-conditions.ts'
import { sqliteDialect } from '../dialect.ts'
import type { ReadingSide } from './reading-side.ts'
import type { SettledReads } from './settled-reads.ts'

export const counterReads = (
  { prepared, read, atOneMoment, rows }: ReadingSide,
  { readSettled }: SettledReads,
) => {
  const countersNamed = (tenant: number, names: readonly string[]): Counter[] =>
    prepared(`SELECT * FROM counters WHERE tenant = ? AND name IN (${names.map(() => '?').join(',')})`)
      .all(tenant, ...names)
      .map(columns.counter)

  return {
    readCounts: (tenant, names, now, terms) =>
      readSettled(tenant, terms ?? [], () => {
        const having =
          terms === undefined ? { sql: 'TRUE', values: [] } : hasOneOf(tenant, terms, sqliteDialect)
        const expired = prepared(
          // Names the index, because SQLite would pick the tenant's index and walk all of its tokens.
          `SELECT t.type, count(*) AS n FROM tokens t INDEXED BY tokens_by_expiry
           WHERE t.expires_at <= ? AND t.tenant = ? AND ${having.sql} GROUP BY t.type`,
        )
        return atOneMoment(() => ({
          counters: countersNamed(tenant, names),
          expired: new Map(
            expired.all(now, tenant, ...having.values).map(row => [String(row.type), Number(row.n)]),
          ),
        }))
      }),
    readCounters: (tenant, names) => read(() => countersNamed(tenant, names)),
    listCounters: tenant => rows('SELECT * FROM counters WHERE tenant = ?', [tenant], columns.counter),
  } satisfies Partial<Store>
}
