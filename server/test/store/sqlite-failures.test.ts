import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Store } from '../../src/store/port.ts'
import { isBusy, isDamage, isDiskFailure, isFull } from '../../src/store/sqlite/failure-codes.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { sharedWriter } from '../../src/store/sqlite/writing/shared-writer.ts'
import { threadWriter } from '../../src/store/sqlite/writing/thread-writer.ts'
import type { Writer } from '../../src/store/sqlite/writing/writer-client.ts'
import type { WriteSet } from '../../src/store/write-set.ts'
import { engines } from '../rig/engines.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { devApplications, TestVault } from '../rig/test-vault.ts'
import { bytes, isUnavailable, matchOf, pendingAfter, terms, tokenRow, transientRow } from './contract/rig.ts'
import { type SqliteWatch, watchSqlite } from './watch-sqlite.ts'

describe('storage that fails (sqlite)', () => {
  let folder: { path: string; remove: () => void }
  let path: string
  let watch: SqliteWatch
  let store: Store
  let tenant: number
  beforeEach(async () => {
    folder = temporaryFolder()
    path = join(folder.path, 'vault.db')
    watch = watchSqlite()
    store = openSqlite({ path, writing: 'inline', lockWaitMs: 1 })
    tenant = await store.createTenant(newTenant('settled'), madeTenantLog())
  })
  afterEach(async () => {
    watch.stop()
    await store.close()
    folder.remove()
  })

  const newTenant = (id: string) => ({ id, sealed: bytes(id), keys: [], applications: [], apiKeys: [] })
  const create = (id: string): WriteSet => {
    const row = tokenRow(tenant, id)
    return {
      tenant,
      guarded: [
        { kind: 'insertToken', row },
        { kind: 'claimMatch', match: matchOf(bytes(id)), tokenId: id, insteadOf: null },
      ],
      effects: [
        terms('addTerms', row, [bytes('term')]),
        { kind: 'putTransient', row: transientRow(tenant, id, { expiresAt: 1 }) },
      ],
      counters: [{ name: 'n', by: 1 }],
      log: null,
    }
  }
  const counts = async () => [
    await store.countTokens({ tenant, groups: [[bytes('term')]], now: 0 }),
    (await store.readCounters(tenant, ['n']))[0]?.value ?? 0,
    (await store.listTenants()).length,
  ]
  const begins = () => watch.executed.filter(sql => sql.startsWith('BEGIN')).length

  /** How to break storage, and how to mend it. */
  const troubles: Record<string, () => () => void> = {
    'is locked by another process': () => {
      const outsider = new DatabaseSync(path, { timeout: 5_000 })
      outsider.exec('BEGIN IMMEDIATE')
      return () => outsider.close()
    },
    'cannot commit': () => {
      watch.beforeExec = sql => {
        if (sql === 'COMMIT') throw new Error('disk I/O error')
      }
      return () => {
        watch.beforeExec = () => {}
      }
    },
  }
  for (const [trouble, cause] of Object.entries(troubles))
    test(`writes to storage that ${trouble} are refused as unavailable, with nothing half-done (C2.23)`, async () => {
      assert.deepEqual(await store.commit(create('before')), { committed: true })
      assert.deepEqual(await counts(), [1, 1, 1])
      const mend = cause()
      const refused = await Promise.allSettled([
        ...Array.from({ length: 50 }, (_, i) => store.commit(create(`t${i}`))),
        store.createTenant(newTenant('unlucky'), madeTenantLog()),
        store.purgeTransients(pendingAfter(1), 10),
      ])
      for (const result of refused) assert.ok(result.status === 'rejected' && isUnavailable(result.reason))
      assert.deepEqual(await counts(), [1, 1, 1])

      mend()
      assert.deepEqual(await counts(), [1, 1, 1])
      assert.equal((await store.getTokens(tenant, ['before'])).transients.length, 1)
      for (let i = 0; i < 50; i++)
        assert.equal(await store.findMatchHolder(tenant, matchOf(bytes(`t${i}`))), undefined)
      assert.deepEqual(await store.commit(create('t0')), { committed: true })
      assert.deepEqual(await counts(), [2, 2, 1])
    })

  test('a lock is waited for once, not once for each waiting write (C2.23)', async () => {
    const mend = troubles['is locked by another process']?.()
    const before = begins()
    await Promise.allSettled(Array.from({ length: 50 }, (_, i) => store.commit(create(`t${i}`))))
    assert.equal(begins() - before, 1)
    mend?.()
  })

  test('if the commit of a batch fails once, its sets are stored one by one, each exactly once (C2.23, C32.3)', async () => {
    let failures = 1
    watch.beforeExec = sql => {
      if (sql === 'COMMIT' && failures-- > 0) throw new Error('disk I/O error')
    }
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => store.commit(create(`t${i}`))))
    assert.deepEqual(new Set(outcomes.map(outcome => outcome.committed)), new Set([true]))
    assert.deepEqual(await counts(), [20, 20, 1])
  })

  test('a read-only store serves reads and refuses writes as unavailable (C2.23)', async () => {
    await store.commit(create('before'))
    const reading = openSqlite({ path: `${pathToFileURL(path).href}?mode=ro`, writing: 'inline' })
    assert.ok(await reading.getToken(tenant, 'before'))
    await assert.rejects(reading.commit(create('after')), isUnavailable)
    await assert.rejects(reading.createTenant(newTenant('unlucky'), madeTenantLog()), isUnavailable)
    await assert.rejects(reading.purgeTransients(pendingAfter(1), 1), isUnavailable)
    await reading.close()
    assert.deepEqual(await counts(), [1, 1, 1])
  })

  /** The reasons of a writer on another thread or in another process have to travel. */
  const writers: Record<string, () => 'inline' | 'thread' | Writer> = {
    'in this thread': () => 'inline',
    'on a thread': () => 'thread',
    'in another process': () => sharedWriter(threadWriter({ path, lockWaitMs: 1 })),
  }
  for (const [place, writing] of Object.entries(writers))
    test(`a writer ${place} says why it cannot write, for every kind of write (C2.23)`, async () => {
      const other = openSqlite({ path, writing: writing(), lockWaitMs: 1 })
      const outages = async (...writes: Promise<unknown>[]): Promise<unknown[]> =>
        (await Promise.allSettled(writes)).map(result => result.status === 'rejected' && result.reason.outage)
      const outsider = new DatabaseSync(path, { timeout: 5_000 })
      outsider.exec('BEGIN IMMEDIATE')
      const locked = 'database is locked (SQLite 5)'
      assert.deepEqual(
        await outages(
          other.commit(create('t')),
          other.createTenant(newTenant('unlucky'), madeTenantLog()),
          other.purgeTransients(pendingAfter(1), 1),
        ),
        [locked, locked, locked],
      )
      outsider.exec('ROLLBACK; BEGIN; SELECT * FROM tokens')
      await other.commit(create('t'))
      assert.deepEqual(await outages(other.shred()), [
        'the log cannot be truncated while another process reads',
      ])
      outsider.close()
      await other.close()
    })
  for (const [place, writing] of Object.entries(writers))
    test(`a writer ${place} writes nothing once storage is closed, even if it never wrote before (C2.23)`, async () => {
      const other = openSqlite({ path, writing: writing(), lockWaitMs: 1 })
      await other.close()
      await assert.rejects(other.commit(create('late')), isUnavailable)
      await assert.rejects(other.purgeTransients(pendingAfter(1), 1), isUnavailable)
      assert.deepEqual(await counts(), [0, 0, 1])
    })

  test('an overwritten file is unavailable to reads, writes and the health check (C2.23, C36.2)', async () => {
    await store.commit(create('before'))
    await store.close()
    // The schema stays readable, so that the store opens; the first page of every table and index does not.
    const reader = new DatabaseSync(path, { readOnly: true })
    const pages = reader.prepare('SELECT rootpage FROM sqlite_schema WHERE rootpage > 1').all()
    reader.close()
    const content = readFileSync(path)
    const pageBytes = content.readUInt16BE(16)
    for (const { rootpage } of pages)
      content.fill('x', (Number(rootpage) - 1) * pageBytes, Number(rootpage) * pageBytes)
    writeFileSync(path, content)
    store = openSqlite({ path, writing: 'inline' })
    await assert.rejects(store.commit(create('after')), isUnavailable)
    await assert.rejects(store.getToken(tenant, 'before'), isUnavailable)
    await assert.rejects(counts(), isUnavailable)
    await assert.rejects(store.createTenant(newTenant('unlucky'), madeTenantLog()), isUnavailable)
    await assert.rejects(store.health(), isUnavailable)

    const nonsense = join(folder.path, 'nonsense.db')
    writeFileSync(nonsense, Buffer.alloc(8_192, 'x'))
    assert.throws(() => openSqlite({ path: nonsense }), /file is not a database/)
  })
})

describe('a vault on storage that fails (sqlite)', () => {
  test('requests that write or reveal get 503 with Retry-After, masked reads go on, and everything works afterwards, and a tenant whose records wait for long is answered nothing (C2.23, L1.10, L1.11)', async () => {
    const sqlite = engines.find(({ name }) => name === 'sqlite')
    assert.ok(sqlite)
    const vault = await TestVault.start({
      engine: {
        ...sqlite,
        open: async folder =>
          openSqlite({ path: join(folder, 'vault.db'), writing: 'inline', lockWaitMs: 1 }),
      },
    })
    try {
      const { keys } = await vault.tenant({ ...devApplications, masked: { permissions: ['token:read'] } })
      const { keys: beside } = await vault.tenant({ masked: { permissions: ['token:read'] } })
      const made = await vault.post('/tokens', keys.general, {
        type: 'token',
        data: 'kept',
        mask: '{{ data | reveal_last: 4 }}',
      })
      const outsider = new DatabaseSync(join(vault.folder.path, 'vault.db'))
      outsider.exec('BEGIN IMMEDIATE')
      const refused = [
        await vault.post('/tokens', keys.general, { type: 'token', data: 'lost' }),
        await vault.post('/tokenize', keys.general, ['lost', 'lost too']),
        await vault.patch(`/tokens/${made.body.id}`, keys.general, { data: 'lost' }),
        await vault.delete(`/tokens/${made.body.id}`, keys.private),
        await vault.get(`/tokens/${made.body.id}`, keys.private),
      ]
      for (const reply of refused) {
        assert.equal(reply.status, 503)
        assert.equal(reply.headers.get('retry-after'), '1')
        assert.equal(reply.body.title, 'Service Unavailable')
        assert.ok(!reply.text.includes('lost'))
      }
      const masked = await vault.get(`/tokens/${made.body.id}`, keys.masked)
      assert.equal(masked.body.data, 'XXXX')
      // Its record cannot be stored either.
      const { acts } = vault.service.vault
      await assert.rejects(acts.flush())
      vault.now += 5_001
      const readiness = async () => (await vault.get('/ready', '')).status
      assert.equal((await vault.get('/tokens', beside.masked)).status, 200)
      assert.deepEqual(
        [(await vault.get(`/tokens/${made.body.id}`, keys.masked)).status, await readiness()],
        [503, 200],
        'another tenant is served',
      )
      await assert.rejects(acts.flush())
      vault.now += 5_001
      assert.equal((await vault.get('/tokens', beside.masked)).status, 503)
      assert.deepEqual([await readiness(), (await vault.get('/health', '')).status], [503, 200])
      outsider.close()
      // As the next try does by itself, within a moment.
      await acts.flush()
      assert.equal(await readiness(), 200)

      assert.ok(!vault.log.join('').includes('lost'))
      const listed = await vault.get('/tokens', keys.private)
      assert.deepEqual([listed.body.pagination.total_items, listed.body.data[0].data], [1, 'kept'])
      const again = await vault.post('/tokens', keys.general, { type: 'token', data: 'stored' })
      assert.equal(again.status, 201)
    } finally {
      await vault.stop()
    }
  })
})

test('a failure of the engine is recognized, whatever details its code has (C2.23)', () => {
  const failure = (errcode: number) => Object.assign(new Error('of the engine'), { errcode })
  // SQLITE_BUSY_RECOVERY, SQLITE_IOERR_WRITE, SQLITE_CORRUPT_INDEX, and SQLITE_FULL, which has no details.
  const found = [261, 778, 779, 13].map(code => {
    const error = failure(code)
    return [isBusy, isDiskFailure, isDamage, isFull].findIndex(isSo => isSo(error))
  })
  assert.deepEqual(found, [0, 1, 2, 3])
})
