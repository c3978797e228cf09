import type { StatementSync } from 'node:sqlite'

/** Tables without a row number are cut by their key; each is emptied before the next is begun. */
const tables: readonly { name: string; key: string }[] = [
  { name: 'transients', key: 'rowid' },
  { name: 'tokens', key: 'rowid' },
  { name: 'results', key: 'rowid' },
  { name: 'reports', key: 'rowid' },
  { name: 'terms', key: 'tenant, term, created_at, token_id' },
  { name: 'matches', key: 'tenant, term, tag' },
  { name: 'counters', key: 'tenant, name' },
]

/** Removes a bounded number of rows that deleted tenants left behind; the tenant's keys went first, at once. */
export const purgeDeadTenants = (prepared: (sql: string) => StatementSync, limit: number): number => {
  const dead = prepared('SELECT tenant FROM dead_tenants ORDER BY tenant LIMIT 1').get()
  if (dead === undefined) return 0
  const tenant = Number(dead.tenant)
  for (const { name, key } of tables) {
    const { changes } = prepared(
      `DELETE FROM ${name} WHERE (${key}) IN (SELECT ${key} FROM ${name} WHERE tenant = ? LIMIT ?)`,
    ).run(tenant, limit)
    if (Number(changes) > 0) return Number(changes)
  }
  prepared('DELETE FROM dead_tenants WHERE tenant = ?').run(tenant)
  return 1
}
