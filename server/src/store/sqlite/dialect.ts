import type { Dialect } from '../sql/dialect.ts'

export const sqliteDialect: Dialect = {
  // CROSS JOIN keeps the order; with JOIN SQLite may start from the tokens.
  joinTokens: id => `CROSS JOIN tokens k ON k.tenant = ? AND k.token_id = ${id}`,
  perRow: '',
  withoutEnd: 'LIMIT -1',
  union: selects => selects.join(' UNION '),
  oneOf: (column, values) => ({ sql: `${column} IN (${values.map(() => '?').join(',')})`, values }),
}
