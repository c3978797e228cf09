import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import type { Store } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { bytes, insertion, tokenRow } from './contract/rig.ts'
import { openedSqlite } from './opened-sqlite.ts'
import { watchSqlite } from './watch-sqlite.ts'

describe('durability (sqlite)', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'vault.db')
  let store: Store
  let tenant: number
  let connection: DatabaseSync
  let outsider: DatabaseSync
  before(async () => {
    const watch = watchSqlite()
    store = openSqlite({ path, writing: 'inline' })
    watch.stop()
    connection = [...watch.databases][0] as DatabaseSync
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
    outsider = new DatabaseSync(path, { readOnly: true })
  })
  after(async () => {
    outsider.close()
    await store.close()
    folder.remove()
  })

  const create = (id: string) =>
    store.commit(insertion(tenant, [{ row: tokenRow(tenant, id), terms: [bytes('term')] }]))
  const seen = (id: string): boolean =>
    outsider.prepare('SELECT 1 FROM tokens WHERE tenant = ? AND token_id = ?').get(tenant, id) !== undefined

  for (const [pragma, value] of Object.entries({
    journal_mode: 'wal',
    // 2 is FULL: the log is flushed to disk before a commit returns.
    synchronous: 2,
    secure_delete: 1,
    // 2 is MEMORY: nothing is sorted or rolled back through files outside the data folder.
    temp_store: 2,
    auto_vacuum: 0,
  }))
    test(`the engine runs with ${pragma} = ${value} (C27.1, C11.3)`, () => {
      assert.deepEqual(Object.values(connection.prepare(`PRAGMA ${pragma}`).get() ?? {}), [value])
    })

  test('sets sent at the same moment share one commit, and each is answered after it (C27.1)', async () => {
    await store.shred()
    const answered = Array.from({ length: 200 }, (_, i) => create(`t${i}`).then(() => seen(`t${i}`)))
    assert.ok(!seen('t0'), 'nothing is stored before the writer had its turn')
    assert.deepEqual(new Set(await Promise.all(answered)), new Set([true]))
    assert.equal(commitsInLog(path), 1)

    for (let i = 0; i < 3; i++) await create(`later${i}`)
    assert.equal(commitsInLog(path), 4)
  })

  test('a batch is bounded, but a set is never split (C27.1)', async () => {
    await store.shred()
    const large = (name: string) =>
      store.commit(
        insertion(
          tenant,
          Array.from({ length: 3_000 }, (_, i) => ({ row: tokenRow(tenant, `${name}${i}`), terms: [] })),
        ),
      )
    await Promise.all([large('a'), large('b'), create('small'), create('smaller')])
    assert.equal(commitsInLog(path), 3)
  })
})

test('a write waits for a lock after shredding as long as before (C2.23)', async () => {
  const watch = watchSqlite()
  const { store, close } = await openedSqlite({ writing: 'inline', lockWaitMs: 4_000 })
  const waits = () =>
    [...watch.databases].map(database => database.prepare('PRAGMA busy_timeout').get()?.timeout)
  const before = waits()
  assert.ok(before.length > 1 && before.every(wait => wait === 4_000))
  await store.shred()
  assert.deepEqual(waits(), before)
  watch.stop()
  await close()
})

/** Counts transactions in the write-ahead log: the last frame of each carries the size of the database. */
const commitsInLog = (path: string): number => {
  const log = readFileSync(`${path}-wal`)
  const frameBytes = 24 + log.readUInt32BE(8)
  const salt = log.subarray(16, 24)
  let commits = 0
  for (let start = 32; start + frameBytes <= log.length; start += frameBytes)
    if (log.subarray(start + 8, start + 16).equals(salt) && log.readUInt32BE(start + 4) !== 0) commits++
  return commits
}
