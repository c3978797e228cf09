import type { Dialect } from '../sql/dialect.ts'

export const sqliteDialect: Dialect = {
  joinInOrder: 'CROSS JOIN',
  withoutEnd: 'LIMIT -1',
  oneOf: (column, values) => ({ sql: `${column} IN (${values.map(() => '?').join(',')})`, values }),
}
