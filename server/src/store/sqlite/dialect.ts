import type { Dialect } from '../sql/dialect.ts'
import { hasOneOfIds, tokenColumnsAsText } from './reading/rows-by-id.ts'

export const sqliteDialect: Dialect = {
  // Looks rows up by the number derived from the id. A row with a different number comes back empty, with its id after
  // the columns, and the reader then looks it up in the index of ids.
  rowsFound: (tenant, { sql, values }) => ({
    sql: `SELECT ${tokenColumnsAsText}, CASE WHEN k.rowid IS NULL THEN found.token_id END FROM (${sql}) found
      LEFT JOIN tokens k ON k.rowid = row_number_of(found.token_id) AND +k.tenant = ? AND k.token_id = found.token_id
      ORDER BY found.created_at DESC, found.token_id`,
    values: [...values, tenant],
  }),
  perRow: '',
  withoutEnd: 'LIMIT -1',
  union: selects => selects.join(' UNION '),
  oneOf: (column, values) => ({ sql: `${column} IN (${values.map(() => '?').join(',')})`, values }),
  hasId: (tenant, ids) => hasOneOfIds('t', tenant, ids),
}
