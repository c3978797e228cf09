import { keyColumns, type Table } from '../tables.ts'

/** Columns that are part of a table's key only in PostgreSQL, where each counter is spread over several rows. */
export const ownKeyColumns: Readonly<Record<string, readonly string[]>> = { counters: ['shard'] }

/** Rows that another node is deleting at the same moment are left to it. */
export const skipLocked = 'FOR UPDATE SKIP LOCKED'

/**
 * Deletes the rows of a table that `which` selects. A CTE selects them, because it is computed once: a subquery would be computed for
 * each row, and its limit would limit nothing. Rows that are not locked may change in between; `still` checks the row `d` again.
 */
export const deleteSome = (table: Table, which: string, still = 'true'): string => {
  const key = [...keyColumns(table), ...(ownKeyColumns[table.name] ?? [])]
  const sameRow = key.map(column => `d.${column} = some_rows.${column}`).join(' AND ')
  return `WITH some_rows AS MATERIALIZED (SELECT ${key.join(', ')} FROM ${table.name} WHERE ${which})
    DELETE FROM ${table.name} d USING some_rows WHERE ${sameRow} AND ${still}`
}
