import type { Dialect } from '../sql/dialect.ts'

/** Many values as one parameter. */
export type List = readonly string[] | readonly Uint8Array[]

export const postgresDialect: Dialect<List> = {
  joinInOrder: 'JOIN',
  withoutEnd: '',
  oneOf: (column, values) => ({ sql: `${column} = ANY (?)`, values: [values] }),
}

/** `?` becomes `$1`, `$2` …; no other question mark stands in the statements that engines share. */
export const numbered = (sql: string): string => {
  let number = 0
  return sql.replaceAll('?', () => `$${++number}`)
}
