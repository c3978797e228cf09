import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { inspectSqlite } from '../../src/store/sqlite/inspect.ts'
import { migrate, migrations } from '../../src/store/sqlite/migrate.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { becomeLaterRelease } from '../rig/later-migration.ts'

import { madeTenantLog } from '../rig/log-parts.ts'
import { isLong } from '../rig/long-run.ts'

import { temporaryFolder } from '../rig/temporary-folder.ts'
import { openedSqlite } from './opened-sqlite.ts'

describe('migrations (sqlite)', () => {
  let folder: { path: string; remove: () => void }
  let path: string
  beforeEach(() => {
    folder = temporaryFolder()
    path = join(folder.path, 'vault.db')
  })
  afterEach(() => folder.remove())

  const newest = migrations.at(-1)?.number ?? 0
  const raw = <T>(work: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(path)
    try {
      return work(database)
    } finally {
      database.close()
    }
  }
  const schemaNumber = () => raw(database => database.prepare('PRAGMA user_version').get()?.user_version)
  const schema = () =>
    raw(database => database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all())

  test('they are numbered from 1 without gaps, as their files are (C34.7)', () => {
    assert.deepEqual(
      migrations.map(({ number }) => number),
      migrations.map((_, index) => index + 1),
    )
    const files = readdirSync(new URL('../../src/store/sqlite/migrations/', import.meta.url))
    assert.deepEqual(
      files.filter(file => /^\d/.test(file)).sort(),
      migrations.map(({ number, name }) => `${String(number).padStart(4, '0')}-${name}.ts`),
    )
  })

  test('new storage gets the newest schema, and opening it again changes nothing (C34.7)', async () => {
    await openSqlite({ path }).close()
    assert.equal(schemaNumber(), newest)
    const before = schema()
    assert.ok(before.length > 0)
    await openSqlite({ path }).close()
    assert.deepEqual(schema(), before)
  })

  test('storage of a newer release is refused with advice on what to do, and left unchanged (C35.1)', async () => {
    await openSqlite({ path }).close()
    raw(database => database.exec(`PRAGMA user_version = ${newest + 1}`))
    const before = schema()
    assert.throws(
      () => openSqlite({ path }),
      new Error(`storage has schema ${newest + 1}, this release knows ${newest}: install the newer release`),
    )
    assert.equal(schemaNumber(), newest + 1)
    assert.deepEqual(schema(), before)
  })

  test('a server of an older release writes nothing once a newer one has migrated its file (C35.1)', async () => {
    const store = openSqlite({ path })
    const key = { purpose: 'a key', version: 1, wrapped: new Uint8Array(8) }
    await store.ensureVaultKeys([key])
    raw(database => database.exec(`CREATE TABLE later (x INTEGER); PRAGMA user_version = ${newest + 1}`))
    await assert.rejects(store.replaceKey('vault', key, new Uint8Array(9)), {
      outage: 'a newer release has changed the schema: restart the server with that release',
    })
    await assert.rejects(store.health(), StoreUnavailableError)
    await store.close()
  })

  test('a migration that fails leaves nothing behind (C34.7)', () => {
    raw(database => database.exec('CREATE TABLE counters (of TEXT)'))
    assert.throws(() => raw(migrate), /counters already exists/)
    assert.equal(schemaNumber(), 0)
    assert.deepEqual(
      schema().map(({ name }) => name),
      ['counters'],
    )
  })

  test('a later release migrates storage and keeps what is in it (C34.7)', async () => {
    const store = openSqlite({ path })
    const tenant = { id: 'one', sealed: new Uint8Array(1), keys: [], applications: [], apiKeys: [] }
    const number = await store.createTenant(tenant, madeTenantLog())
    await store.close()
    const leaveLaterRelease = becomeLaterRelease()
    try {
      const later = openSqlite({ path })
      assert.equal((await later.getTenant(number))?.id, 'one')
      await later.health()
      await later.close()
    } finally {
      leaveLaterRelease()
    }
    assert.equal(schemaNumber(), newest + 1)
    assert.ok(schema().some(({ name }) => name === 'later'))
  })

  test('a later migration that fails leaves nothing behind, and is made up for when nothing is in its way (C34.7)', async () => {
    await openSqlite({ path }).close()
    raw(database => database.exec('CREATE TABLE later (of TEXT)'))
    const before = schema()
    const leaveLaterRelease = becomeLaterRelease()
    try {
      assert.throws(() => openSqlite({ path }), /later already exists/)
      assert.deepEqual([schemaNumber(), schema()], [newest, before])
      raw(database => database.exec('DROP TABLE later'))
      await openSqlite({ path }).close()
      assert.equal(schemaNumber(), newest + 1)
    } finally {
      leaveLaterRelease()
    }
  })

  test('the schema version can be read at any moment, even while the last server closes the file (C35.3)', async () => {
    await openSqlite({ path }).close()
    const isDone = new Int32Array(new SharedArrayBuffer(4))
    const thread = closer({ path, isDone })
    await once(thread, 'message')
    try {
      for (let asked = 0; asked < 500; asked++) assert.equal(inspectSqlite(path)?.schema.current, newest)
    } finally {
      Atomics.store(isDone, 0, 1)
      await once(thread, 'exit')
    }
  })

  test('all who open new storage at the same moment succeed (C35.3)', async () => {
    const threads = Array.from({ length: 4 }, opener)
    try {
      for (let round = 0; round < (isLong ? 10 : 3); round++) {
        path = join(folder.path, `vault-${round}.db`)
        const gate = new Int32Array(new SharedArrayBuffer(4))
        const answers = threads.map(async thread => {
          thread.postMessage({ path, gate, all: threads.length })
          return (await once(thread, 'message'))[0]
        })
        assert.deepEqual(new Set(await Promise.all(answers)), new Set(['opened']))
        assert.equal(schemaNumber(), newest)
        const store = openSqlite({ path })
        assert.equal((await store.listTenants()).length, threads.length)
        assert.equal((await store.listVaultKeys()).length, 1)
        await store.close()
      }
    } finally {
      await Promise.all(threads.map(thread => thread.terminate()))
    }
  })
})

/** A thread that opens the storage, writes to it and closes it, over and over. */
const closer = (workerData: { path: string; isDone: Int32Array }): Worker =>
  new Worker(
    `
    const { DatabaseSync } = require('node:sqlite')
    const { parentPort, workerData: { path, isDone } } = require('node:worker_threads')
    parentPort.postMessage('running')
    while (Atomics.load(isDone, 0) === 0) {
      const database = new DatabaseSync(path, { timeout: 5_000 })
      database.exec('UPDATE grants_epoch SET epoch = epoch + 1')
      database.close()
    }`,
    { eval: true, workerData },
  )

test('a table that is not the vault’s own may have an index (C34.7)', async () => {
  const { path, store, close } = await openedSqlite()
  const outsider = new DatabaseSync(path, { timeout: 5_000 })
  outsider.exec('CREATE TABLE notes (note TEXT); CREATE INDEX notes_by_note ON notes (note)')
  outsider.close()
  await store.health()
  await openSqlite({ path }).close()
  await close()
})

/** A thread that waits at the gate for the others, then opens the storage and writes to it. */
const opener = (): Worker =>
  new Worker(
    `
    const { parentPort, workerData } = require('node:worker_threads')
    parentPort.on('message', async ({ path, gate, all }) => {
      const { openSqlite } = await import(workerData)
      Atomics.add(gate, 0, 1)
      while (Atomics.load(gate, 0) < all);
      try {
        const store = openSqlite({ path })
        await store.ensureVaultKeys([{ purpose: 'a key', version: 1, wrapped: new Uint8Array(8) }])
        const sealed = new Uint8Array(8)
        await store.createTenant(
          { id: crypto.randomUUID(), sealed, keys: [], applications: [], apiKeys: [] },
          { records: 1, bytes: 8, sealWith: () => ({ firstAt: 1, lastAt: 1, sealed }) },
        )
        await store.close()
        parentPort.postMessage('opened')
      } catch (error) {
        parentPort.postMessage(error.message)
      }
    })`,
    { eval: true, workerData: new URL('../../src/store/sqlite/sqlite-store.ts', import.meta.url).href },
  )
