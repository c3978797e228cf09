import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { monthOf, type World } from './world.ts'

/** Storage holds what the model says, and nothing in it belongs to a token that does not exist. */
export const checkStorage = (
  database: DatabaseSync,
  world: World,
  tenantNumbers: readonly number[],
  { isSwept }: { isSwept: boolean },
): void => {
  for (const [index, tenant] of world.tenants.entries()) {
    if (tenant.isDeleted) continue
    const number = tenantNumbers[index]!
    const all = (sql: string) => database.prepare(sql).all(number)
    const ids = all('SELECT token_id FROM tokens WHERE tenant = ? ORDER BY token_id').map(row => row.token_id)
    assert.deepEqual(ids, [...tenant.tokens.keys()].sort(), 'stored tokens')
    const counters = new Map(
      all('SELECT name, value FROM counters WHERE tenant = ?').map(row => [row.name, Number(row.value)]),
    )
    for (const type of ['token', 'card'])
      assert.equal(
        counters.get(`type:${type}`) ?? 0,
        [...tenant.tokens.values()].filter(token => token.type === type).length,
        `the counter of ${type}`,
      )
    const month = monthOf(world.now)
    assert.equal(counters.get(`active:${month}`) ?? 0, tenant.active.get(month) ?? 0, 'active tokens')
    const several = [...tenant.tokens.values()].filter(token => token.containers.length > 1).length
    assert.equal(counters.get('several-containers') ?? 0, several, 'tokens in several containers')
    for (const table of ['terms', 'matches', 'transients'])
      assert.deepEqual(
        all(`SELECT DISTINCT token_id FROM ${table} x WHERE tenant = ? AND NOT EXISTS
          (SELECT 1 FROM tokens k WHERE k.tenant = x.tenant AND k.token_id = x.token_id)`),
        [],
        `${table} of tokens that are not there`,
      )
    if (!isSwept) continue
    for (const table of ['tokens', 'transients', 'results'])
      assert.deepEqual(
        database
          .prepare(`SELECT 1 FROM ${table} WHERE tenant = ? AND expires_at <= ?`)
          .all(number, world.now),
        [],
        `a sweep left ${table} that are due`,
      )
  }
}
