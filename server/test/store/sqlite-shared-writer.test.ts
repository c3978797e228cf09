import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { unwritable } from '../../src/store/sqlite/engine-reason.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { type PackedSets, packSets, unpackSets } from '../../src/store/sqlite/writing/packed-sets.ts'
import { sharedWriter } from '../../src/store/sqlite/writing/shared-writer.ts'
import { threadWriter } from '../../src/store/sqlite/writing/thread-writer.ts'
import type { Writer, WriterAnswer, WriterRequest } from '../../src/store/sqlite/writing/writer-client.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { insertion, tokenRow } from './contract/rig.ts'
import { storeContract } from './store-contract.ts'

/** Stores of one folder write through one writer, as the workers of one machine do. */
const writers = new Map<string, Writer>()
const writerOf = (path: string): Writer => {
  const writer = writers.get(path) ?? sharedWriter(threadWriter({ path, lockWaitMs: 5_000 }))
  writers.set(path, writer)
  return writer
}
after(async () => {
  for (const writer of writers.values()) await writer.close()
})
storeContract('sqlite, one writer for all', folder => {
  const path = join(folder, 'vault.db')
  return openSqlite({
    path,
    writing: { ask: request => writerOf(path).ask(request), close: async () => {} },
  })
})

describe('one writer for several processes', () => {
  /** A writer that answers when the test says so. */
  const heldWriter = () => {
    const asked: { request: WriterRequest; answer: (answer: WriterAnswer) => void; fail: () => void }[] = []
    const writer: Writer = {
      ask: request =>
        new Promise((answer, reject) =>
          asked.push({ request, answer, fail: () => reject(unwritable('gone')) }),
        ),
      close: async () => {},
    }
    return { asked, writer }
  }
  const batches = (...tenants: number[]) =>
    tenants.map(tenant => packSets(tenant, [{ tenant, guarded: [], effects: [], counters: [], log: null }]))
  const tenantsOf = (request: WriterRequest | undefined): number[] =>
    request?.kind === 'commit' ? request.batches.flatMap(unpackSets).map(({ tenant }) => tenant) : []
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

  test('requests that arrive while a batch is under way form one batch, and each gets its own results (C27.1)', async () => {
    const { asked, writer } = heldWriter()
    const shared = sharedWriter(writer).ask
    const first = shared({ kind: 'commit', batches: batches(1) })
    const second = shared({ kind: 'commit', batches: batches(2, 3) })
    const third = shared({ kind: 'commit', batches: batches(4) })
    assert.deepEqual(
      asked.map(({ request }) => tenantsOf(request)),
      [[1]],
    )
    asked[0]?.answer({ results: [{ committed: true }] })
    assert.deepEqual(await first, { results: [{ committed: true }] })
    await turn()
    assert.deepEqual(tenantsOf(asked[1]?.request), [2, 3, 4])
    asked[1]?.answer({
      results: [{ committed: true }, { committed: false, conflict: 'tokenExists' }, { failed: 'x' }],
    })
    assert.deepEqual(await second, {
      results: [{ committed: true }, { committed: false, conflict: 'tokenExists' }],
    })
    assert.deepEqual(await third, { results: [{ failed: 'x' }] })
  })

  test('what is too much for one commit is split between requests, in their order (C27.1)', async () => {
    const { asked, writer } = heldWriter()
    const shared = sharedWriter(writer).ask
    const large = (tenant: number): PackedSets[] => [
      packSets(tenant, [
        insertion(tenant, [{ row: tokenRow(tenant, 'x', { sealed: new Uint8Array(600_000) }), terms: [] }]),
      ]),
    ]
    const commits: (readonly PackedSets[])[] = [batches(1), batches(2), large(3), large(4), batches(5)]
    for (const sets of commits) void shared({ kind: 'commit', batches: sets })
    for (let n = 0; n < 3; n++) {
      const { request, answer } = asked[n] ?? assert.fail('nothing was asked')
      answer({ results: tenantsOf(request).map(() => ({ committed: true })) })
      await turn()
    }
    assert.deepEqual(
      asked.map(({ request }) => tenantsOf(request)),
      [[1], [2, 3], [4, 5]],
    )
  })

  test('tenants take turns, whichever process their sets come from (C37.1)', async () => {
    const { asked, writer } = heldWriter()
    const shared = sharedWriter(writer).ask
    const row = (tenant: number) => tokenRow(tenant, 'x', { sealed: new Uint8Array(600_000) })
    const large = (tenant: number) => packSets(tenant, [insertion(tenant, [{ row: row(tenant), terms: [] }])])
    for (let from = 0; from < 4; from++) void shared({ kind: 'commit', batches: [large(1), large(1)] })
    void shared({ kind: 'commit', batches: [large(2), ...batches(3)] })
    for (let n = 0; n < 4; n++) {
      const { request, answer } = asked[n] ?? assert.fail('nothing was asked')
      answer({ results: tenantsOf(request).map(() => ({ committed: true })) })
      await turn()
      await turn()
    }
    assert.deepEqual(
      asked.slice(0, 4).map(({ request }) => tenantsOf(request)),
      [[1], [2, 3], [1], [1]],
    )
  })

  test('a writer that dies fails everything that waits for it, and the next batch is sent anew (C2.23)', async () => {
    const { asked, writer } = heldWriter()
    const shared = sharedWriter(writer).ask
    const first = shared({ kind: 'commit', batches: batches(1) })
    const standalone = shared({ kind: 'standalone', name: 'shred', args: [] })
    for (const { fail } of asked) fail()
    assert.deepEqual([await first, await standalone], [{ results: [{ failed: 'gone' }] }, { failed: 'gone' }])
    await turn()
    const next = shared({ kind: 'commit', batches: batches(2) })
    asked[2]?.answer({ results: [{ committed: true }] })
    assert.deepEqual(await next, { results: [{ committed: true }] })
  })

  test('a writing thread whose end is reported before its last answer does not answer for its successor (C27.1)', async () => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'vault.db')
    await openSqlite({ path, writing: 'inline' }).close()
    const writer = threadWriter({ path, lockWaitMs: 5_000 })
    const acquire = (holder: string, name = 'sweep') => {
      const lease = { name, holder, until: 2_000 }
      return writer.ask({ kind: 'standalone', name: 'acquireLease', args: [lease, 1_000] })
    }
    const starting = once(process, 'worker')
    await acquire('first', 'another sweep')
    const [thread] = (await starting) as [Worker]
    const first = acquire('first')
    thread.emit('error', new Error('out of memory'))
    await assert.rejects(first)
    // The first thread answers while the next one still starts.
    assert.deepEqual(await acquire('second'), { value: false })
    assert.deepEqual(await acquire('first'), { value: true })
    await thread.terminate()
    await writer.close()
    folder.remove()
  })

  test('a store does not wait for its last batch, which may be queued behind those of others (C27.1)', async () => {
    const folder = temporaryFolder()
    const { asked, writer } = heldWriter()
    const store = openSqlite({ path: join(folder.path, 'vault.db'), writing: writer })
    const answers = [1, 2].map(async tenant => {
      const committed = store.commit({ tenant, guarded: [], effects: [], counters: [], log: null })
      return { tenant, ...(await committed) }
    })
    await turn()
    assert.deepEqual(
      asked.map(({ request }) => tenantsOf(request)),
      [[1, 2]],
    )
    const third = store.commit({ tenant: 3, guarded: [], effects: [], counters: [], log: null })
    await turn()
    assert.deepEqual(tenantsOf(asked[1]?.request), [3])
    asked[1]?.answer({ results: [{ committed: true }] })
    assert.deepEqual(await third, { committed: true })
    asked[0]?.answer({ results: [{ committed: true }, { committed: false, conflict: 'tokenExists' }] })
    assert.deepEqual(await Promise.all(answers), [
      { tenant: 1, committed: true },
      { tenant: 2, committed: false, conflict: 'tokenExists' },
    ])
    await store.close()
    folder.remove()
  })

  test('of two stores that insert the same id at once one succeeds, and both see the token (C16.4, C27.1)', async () => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'vault.db')
    const writer = sharedWriter(threadWriter({ path, lockWaitMs: 5_000 }))
    const open = () => openSqlite({ path, writing: writer })
    const stores = [open(), open()]
    const tenant = await open().createTenant(
      {
        id: 'one',
        sealed: new Uint8Array(1),
        keys: [],
        applications: [],
        apiKeys: [],
      },
      madeTenantLog(),
    )
    const outcomes = await Promise.all(
      stores.map(store => store.commit(insertion(tenant, [{ row: tokenRow(tenant, 'same'), terms: [] }]))),
    )
    assert.deepEqual(outcomes.map(({ committed }) => committed).sort(), [false, true])
    for (const store of stores) assert.ok(await store.getToken(tenant, 'same'))
    await writer.close()
    folder.remove()
  })
})
