import type { StatementSync } from 'node:sqlite'
import { contentTables, keyColumns, type Table } from '../tables.ts'

/** Here the last use of a key is a column of the key, and went with it. */
const tables = contentTables.filter(({ name }) => name !== 'key_uses')

/** Tables that SQLite keeps by row number; the others are clustered on their key and have no such number. */
const numberedTables: ReadonlySet<string> = new Set(['tokens', 'transients', 'results', 'reports'])

const rowKey = (table: Table): string =>
  numberedTables.has(table.name) ? 'rowid' : keyColumns(table).join(', ')

/**
 * Removes a bounded number of rows that deleted tenants left behind, one table after the other; the tenant's keys went
 * first, at once.
 */
export const purgeDeadTenants = (prepared: (sql: string) => StatementSync, limit: number): number => {
  for (const table of tables) {
    const key = rowKey(table)
    const { changes } = prepared(
      `DELETE FROM ${table.name} WHERE (${key}) IN (SELECT ${key} FROM ${table.name} WHERE tenant = ${firstDead} LIMIT ?)`,
    ).run(limit)
    if (Number(changes) > 0) return Number(changes)
  }
  return Number(prepared(`DELETE FROM dead_tenants WHERE tenant = ${firstDead}`).run().changes)
}

/** Looked up by each statement: a number that no double holds would come back as another one. */
const firstDead = '(SELECT min(tenant) FROM dead_tenants)'
