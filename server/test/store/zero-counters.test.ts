import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines } from '../rig/engines.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { writeSet } from './contract/rig.ts'

for (const engine of engines)
  describe(`counters at zero (${engine.name})`, () => {
    test('no row is left of a counter at zero, unless it says when it last rose (C32.1, C32.3)', async () => {
      const folder = temporaryFolder()
      const stores = [await engine.open(folder.path), await engine.open(folder.path)]
      const [one] = stores
      assert.ok(one)
      const newTenant = { id: 'one', sealed: new Uint8Array(1), keys: [], applications: [], apiKeys: [] }
      const tenant = await one.createTenant(newTenant, madeTenantLog())
      const move = (by: number, n: number) =>
        stores[n % 2]?.commit(
          writeSet(tenant, {
            counters: [
              { name: 'type', by, ...(by > 0 && { at: 5 }) },
              { name: 'container', by },
              { name: 'left', by: by > 0 ? 2 : -1 },
            ],
          }),
        )
      for (const by of [1, -1]) await Promise.all(Array.from({ length: 40 }, (_, n) => move(by, n)))
      for (const store of stores) await store.close()
      const rows = await engine.reach(
        folder.path,
        'SELECT name, sum(value) AS value FROM counters WHERE tenant = ? GROUP BY name ORDER BY name',
        tenant,
      )
      assert.deepEqual(
        rows.map(({ name, value }) => [name, Number(value)]),
        [
          ['left', 40],
          ['type', 0],
        ],
      )
      folder.remove()
    })
  })
