import type { Dialect } from '../sql/dialect.ts'
import { tokenColumns } from '../sql/statements.ts'

/** Many values as one parameter. */
export type List = readonly string[] | readonly Uint8Array[]

export const postgresDialect: Dialect<List> = {
  // OFFSET 0 is a fence: of a plain join, a planner that knows nothing of the tables yet would compare whole tenants.
  rowsFound: (tenant, { sql, values }) => ({
    sql: `SELECT ${tokenColumns} FROM (${sql}) found
      CROSS JOIN LATERAL (SELECT * FROM tokens WHERE tenant = ? AND token_id = found.token_id OFFSET 0) k
      ORDER BY found.created_at DESC, found.token_id`,
    values: [...values, tenant],
  }),
  perRow: 'OFFSET 0',
  withoutEnd: '',
  // UNION would sort all matches: it drops repetitions in ascending order, whatever is asked for outside. Arms
  // that are sorted, which their index makes free, are merged, and a page ends after its rows.
  union: (selects, order) =>
    selects.length === 1
      ? selects.join()
      : `SELECT DISTINCT created_at, token_id FROM
           (${selects.map(select => `(${select} ${order})`).join(' UNION ALL ')}) arms`,
  oneOf: (column, values) => ({ sql: `${column} = ANY (?)`, values: [values] }),
  hasId: (tenant, ids) => ({ sql: 't.tenant = ? AND t.token_id = ANY (?)', values: [tenant, ids] }),
}

/** `?` becomes `$1`, `$2` …; no other question mark stands in the statements that engines share. */
export const numbered = (sql: string): string => {
  let number = 0
  return sql.replaceAll('?', () => `$${++number}`)
}
