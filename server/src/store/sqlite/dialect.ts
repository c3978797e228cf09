import type { Dialect, Sql } from '../sql/dialect.ts'
import { tokenColumns } from '../sql/statements.ts'
import { rowNumber } from './rows-by-id.ts'

export const sqliteDialect: Dialect = {
  // By the numbers that ids tell. Of what is not there only the id comes, behind the columns: the reader looks it up.
  rowsFound: (tenant, { sql, values }) => ({
    sql: `SELECT ${tokenColumns}, CASE WHEN k.rowid IS NULL THEN found.token_id END FROM (${sql}) found
      LEFT JOIN tokens k ON k.rowid = row_number_of(found.token_id) AND +k.tenant = ? AND k.token_id = found.token_id
      ORDER BY found.created_at DESC, found.token_id`,
    values: [...values, tenant],
  }),
  perRow: '',
  withoutEnd: 'LIMIT -1',
  union: selects => selects.join(' UNION '),
  oneOf: (column, values) => ({ sql: `${column} IN (${values.map(() => '?').join(',')})`, values }),
  hasId: (tenant, ids) => isAmong('t', tenant, ids),
}

/** That a row of a token is one of those. */
export const isAmong = (table: string, tenant: number, ids: readonly string[]): Sql => {
  if (ids.length === 0) return { sql: `${table}.rowid IN ()`, values: [] }
  const { sql, values } = rowNumber(tenant, 'column1')
  const named = `(VALUES ${ids.map(() => '(?)').join()})`
  return { sql: `${table}.rowid IN (SELECT ${sql} FROM ${named})`, values: [...values, ...ids] }
}
