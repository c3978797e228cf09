import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { setImmediate as amongImmediates } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import type { Store } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { bytes } from './contract/rig.ts'

/** Resolves among the next events of the loop, as the bytes of a request arrive, before any immediate runs. */
const nextEvent = (): Promise<void> =>
  new Promise(resolve => {
    const { port1, port2 } = new MessageChannel()
    port1.once('message', () => {
      port1.close()
      resolve()
    })
    port2.postMessage('')
  })

describe('the epoch of grants (sqlite)', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'vault.db')
  const store: Store = openSqlite({ path, writing: 'inline' })
  const outsider = new DatabaseSync(path)
  after(async () => {
    outsider.close()
    await store.close()
    folder.remove()
  })
  const revokeElsewhere = () => outsider.exec('UPDATE grants_epoch SET epoch = epoch + 1')

  for (const [where, wait] of [
    ['among events', nextEvent],
    ['among immediates', amongImmediates],
  ] as const)
    test(`requests that come together share a look at it (${where}), and the next event sees what was revoked (C27.2)`, async t => {
      await wait()
      const now = performance.now()
      t.mock.method(performance, 'now', () => now)
      const before = store.grantsEpoch()
      revokeElsewhere()
      assert.equal(store.grantsEpoch(), before)
      await nextEvent()
      assert.notEqual(store.grantsEpoch(), before)
    })

  test('a process that was busy with one event sees in the next what was revoked meanwhile, even if the loop has not turned (C27.2)', async t => {
    await nextEvent()
    const before = store.grantsEpoch()
    revokeElsewhere()
    const now = performance.now()
    t.mock.method(performance, 'now', () => now + 3_000)
    assert.notEqual(store.grantsEpoch(), before)
  })

  test('a change of its own is seen at once (C27.2)', async () => {
    const tenant = await store.createTenant(
      {
        id: 'a tenant',
        sealed: bytes('sealed'),
        keys: [],
        applications: [],
        apiKeys: [],
      },
      madeTenantLog(),
    )
    await nextEvent()
    const changed = store.commit({
      tenant,
      guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
      effects: [],
      counters: [],
      log: null,
    })
    const before = store.grantsEpoch()
    assert.deepEqual(await changed, { committed: true })
    assert.notEqual(store.grantsEpoch(), before)
  })
})
