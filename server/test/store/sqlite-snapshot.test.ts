import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Store } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { logOf, madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { bytes, insertion, pendingAfter, tokenRow, transientRow, writeSet } from './contract/rig.ts'
import { openedSqlite } from './opened-sqlite.ts'

describe('a snapshot shared by reads (sqlite)', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'vault.db')
  let store: Store
  let tenant: number
  let outsider: DatabaseSync
  before(async () => {
    store = openSqlite({ path, writing: 'inline' })
    tenant = await store.createTenant(
      {
        id: 'a tenant',
        sealed: bytes('sealed'),
        keys: [],
        applications: [],
        apiKeys: [],
      },
      madeTenantLog(),
    )
    await create('token')
    outsider = new DatabaseSync(path, { timeout: 5_000 })
  })
  beforeEach(async () => {
    await nextIteration()
    write(1)
  })
  after(async () => {
    outsider.close()
    await store.close()
    folder.remove()
  })

  const create = (id: string) => store.commit(insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }]))
  const write = (version: number) => outsider.prepare('UPDATE tokens SET version = ?').run(version)
  const read = async () => (await store.getToken(tenant, 'token'))?.version

  test('reads that follow each other without a pause see one state, and the next event sees the newest (C27.1)', async () => {
    const first = await read()
    const second = await read()
    write(2)
    assert.deepEqual([first, second, await read()], [1, 1, 1])
    await nextIteration()
    assert.equal(await read(), 2)
  })

  test('a record of a read ends no snapshot, in the midst of which it may become durable (L3)', async () => {
    const inspect = async (commit: () => Promise<unknown>) => {
      let seen: unknown
      // Right before the commit, which follows at the end of the step.
      process.nextTick(() =>
        queueMicrotask(() => {
          seen = (async () => {
            const versions = [await read(), await read()]
            await committing
            write(2)
            return [...versions, await read()]
          })()
        }),
      )
      const committing = commit()
      await committing
      return seen
    }
    const record = () => store.commit(writeSet(tenant, { log: logOf(['revealed token']) }))
    assert.deepEqual(await inspect(record), [1, 1, 1])
    await nextIteration()
    write(1)
    assert.deepEqual(await inspect(() => create('fourth')), [1, 1, 2])
  })

  test('a single read sees what was committed just before (C27.1)', async () => {
    write(3)
    assert.equal(await read(), 3)
  })

  test('a caller that is told of a commit can read it, however many others read meanwhile without a pause (C27.1)', async () => {
    let isTold = false
    const readers = async (): Promise<void> => {
      while (!isTold) {
        for (let i = 0; i < 20; i++) await read()
        await new Promise(resolve => process.nextTick(resolve))
      }
    }
    const told = create('another').then(async () => {
      isTold = true
      return store.getToken(tenant, 'another')
    })
    await readers()
    assert.equal((await told)?.id, 'another')
  })

  test('the log is truncated even though others were reading (C11.2)', async () => {
    await Promise.all([read(), read(), read()])
    await assert.doesNotReject(store.shred())
  })

  test('a caller that is told of a commit can read it, though others began to read just before it (C27.1)', async () => {
    const readTwice = (): void => {
      for (let i = 0; i < 2; i++) void store.getToken(tenant, 'third')
    }
    process.nextTick(() => queueMicrotask(readTwice))
    await create('third')
    assert.equal((await store.getToken(tenant, 'third'))?.id, 'third')
  })
})

test('a write that is no set comes after the sets that were sent before it (C11.2)', async () => {
  for (const writing of ['thread', 'inline'] as const) {
    const { store, tenant, create, close } = await openedSqlite({ writing })
    await create('card')
    const row = transientRow(tenant, 'card')
    const put = store.commit(writeSet(tenant, { effects: [{ kind: 'putTransient', row }] }))
    assert.equal(await store.purgeTransients(pendingAfter(row.expiresAt), 9), 1)
    await put
    await close()
  }
})
