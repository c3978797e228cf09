import type { Dialect } from '../sql/dialect.ts'
import { tokenColumns } from '../sql/statements.ts'

/** Many values as one parameter. */
export type List = readonly string[] | readonly Uint8Array[]

export const postgresDialect: Dialect<List> = {
  // OFFSET 0 is a fence: given a plain join, a planner that knows nothing of the tables yet would compare whole tenants.
  rowsFound: (tenant, { sql, values }, bytesMax) => {
    const rows = `(${sql}) found
      CROSS JOIN LATERAL (SELECT * FROM tokens WHERE tenant = ? AND token_id = found.token_id OFFSET 0) k`
    const order = 'ORDER BY found.created_at DESC, found.token_id'
    if (bytesMax === undefined)
      return {
        sql: `SELECT ${shortColumns('octet_length(k.sealed)', fewBytesMax)} FROM ${rows} ${order}`,
        values: [...values, tenant],
      }
    return {
      sql: `SELECT ${shortColumns('k.bytes', shortBytesMax)} FROM (
          SELECT k.*, row_number() OVER place AS place, sum(octet_length(k.sealed)) OVER place AS bytes
          FROM ${rows} WINDOW place AS (${order} ROWS UNBOUNDED PRECEDING)) k
        WHERE k.bytes - octet_length(k.sealed) < ? ORDER BY k.place`,
      values: [...values, tenant, bytesMax],
    }
  },
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

/** Sealed bytes that a read may bring among others, and those of one row where a read brings up to 64. */
export const shortBytesMax = 131_072
export const fewBytesMax = 16_384

/**
 * The columns of a token, without its sealed bytes if there are too many by then: their number is known without reading them. They are
 * read apart (token-reads.ts).
 */
export const shortColumns = (bytes: string, most: number): string =>
  tokenColumns.replace(/k\.sealed$/, `CASE WHEN ${bytes} <= ${most} THEN k.sealed END`)

/** Turns each `?` into `$1`, `$2` …; the shared statements contain no other question mark. */
export const numbered = (sql: string): string => {
  let number = 0
  return sql.replaceAll('?', () => `$${++number}`)
}
