import type { StatementSync } from 'node:sqlite'
import { contentTables, keyColumns, type Table } from '../../tables.ts'

/** In SQLite the last use of an API key is a column of the key, and was deleted with it. */
const tables = contentTables.filter(({ name }) => name !== 'key_uses')

/** Tables that SQLite stores by row number. The others are clustered on their key and have none. */
const numberedTables: ReadonlySet<string> = new Set(['tokens', 'transients', 'results', 'reports'])

const rowKey = (table: Table): string =>
  numberedTables.has(table.name) ? 'rowid' : keyColumns(table).join(', ')

/**
 * Removes a bounded number of rows that deleted tenants left behind, table by table. The tenant's keys were deleted at
 * once, before this.
 */
export const purgeDeadTenants = (prepared: (sql: string) => StatementSync, limit: number): number => {
  if (prepared('SELECT 1 FROM dead_tenants LIMIT 1').get() === undefined) return 0
  const forgotten = prepared(forgetWaiting).run().changes
  if (Number(forgotten) > 0) return Number(forgotten)
  for (const table of tables) {
    const key = rowKey(table)
    const { changes } = prepared(
      `DELETE FROM ${table.name} WHERE (${key}) IN (SELECT ${key} FROM ${table.name} WHERE tenant = ${firstDead} LIMIT ?)`,
    ).run(limit)
    if (Number(changes) > 0) return Number(changes)
  }
  return Number(prepared(`DELETE FROM dead_tenants WHERE tenant = ${firstDead}`).run().changes)
}

/** Emptied, not deleted, because a place is never used twice. */
const forgetWaiting = `
  UPDATE waiting_terms SET tenant = 0, term = x'', token_id = '', tag = NULL
  WHERE tenant IN (SELECT tenant FROM dead_tenants)`

/** Looked up inside each statement: a tenant number too large for a double would come back as a different one. */
const firstDead = '(SELECT min(tenant) FROM dead_tenants)'
