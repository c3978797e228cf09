import type { Dialect } from '../sql/dialect.ts'
import { tokenColumns } from '../sql/statements.ts'

/** Many values as one parameter. */
export type List = readonly string[] | readonly Uint8Array[]

export const postgresDialect: Dialect<List> = {
  // OFFSET 0 is a fence: given a plain join, a planner that knows nothing of the tables yet would compare whole tenants.
  rowsFound: (tenant, { sql, values }) => ({
    sql: `SELECT ${tokenColumns} FROM (${sql}) found
      CROSS JOIN LATERAL (SELECT * FROM tokens WHERE tenant = ? AND token_id = found.token_id OFFSET 0) k
      ORDER BY found.created_at DESC, found.token_id`,
    values: [...values, tenant],
  }),
  perRow: () => 'OFFSET 0',
  withoutEnd: '',
  // UNION would sort all matches: it drops repetitions in ascending order, whatever order is asked for outside. Arms
  // that are already sorted, which costs nothing on their index, are merged instead, and a page ends after its rows.
  union: (selects, order) =>
    selects.length === 1
      ? selects.join()
      : `SELECT DISTINCT created_at, token_id FROM
           (${selects.map(select => `(${select} ${order})`).join(' UNION ALL ')}) arms`,
  oneOf: (column, values) => ({ sql: `${column} = ANY (?)`, values: [values] }),
  hasId: (tenant, ids) => ({ sql: 't.tenant = ? AND t.token_id = ANY (?)', values: [tenant, ids] }),
}

/** Turns each `?` into `$1`, `$2` …; the shared statements contain no other question mark. */
export const numbered = (sql: string): string => {
  let number = 0
  return sql.replaceAll('?', () => `$${++number}`)
}
