import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Writer, WriterAnswer, WriterRequest } from '../../src/store/sqlite/asked-writing.ts'
import { unwritable } from '../../src/store/sqlite/engine-reason.ts'
import { packSets, unpackSets } from '../../src/store/sqlite/packed-sets.ts'
import { sharedWriting } from '../../src/store/sqlite/shared-writing.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { threadedWriting } from '../../src/store/sqlite/threaded-writing.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { insertion, tokenRow } from './contract/rig.ts'
import { storeContract } from './store-contract.ts'

/** Stores of one folder write through one writer, as the workers of one machine do. */
const writers = new Map<string, Writer>()
const writerOf = (path: string): Writer => {
  const writer = writers.get(path) ?? sharedWriting(threadedWriting({ path, lockWaitMs: 5_000 }))
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
  const batches = (...tenants: number[]) => [
    packSets(tenants.map(tenant => ({ tenant, guarded: [], effects: [], counters: [] }))),
  ]
  const tenantsOf = (request: WriterRequest | undefined): number[] =>
    request?.kind === 'commit' ? request.batches.flatMap(unpackSets).map(({ tenant }) => tenant) : []
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

  test('C27.1 requests that arrive while a batch is under way form one batch, and each gets its own results', async () => {
    const { asked, writer } = heldWriter()
    const shared = sharedWriting(writer).ask
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

  test('C2.23 a writer that dies fails everything that waits for it, and the next batch is sent anew', async () => {
    const { asked, writer } = heldWriter()
    const shared = sharedWriting(writer).ask
    const first = shared({ kind: 'commit', batches: batches(1) })
    const standalone = shared({ kind: 'standalone', name: 'shred', args: [] })
    for (const { fail } of asked) fail()
    assert.deepEqual([await first, await standalone], [{ failed: 'gone' }, { failed: 'gone' }])
    await turn()
    const next = shared({ kind: 'commit', batches: batches(2) })
    asked[2]?.answer({ results: [{ committed: true }] })
    assert.deepEqual(await next, { results: [{ committed: true }] })
  })

  test('C16.4 C27.1 of two stores that insert the same id at once one succeeds, and both see the token', async () => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'vault.db')
    const writer = sharedWriting(threadedWriting({ path, lockWaitMs: 5_000 }))
    const open = () => openSqlite({ path, writing: writer })
    const stores = [open(), open()]
    const tenant = await open().createTenant({
      id: 'one',
      sealed: new Uint8Array(1),
      keys: [],
      applications: [],
      apiKeys: [],
    })
    const outcomes = await Promise.all(
      stores.map(store => store.commit(insertion(tenant, [{ row: tokenRow(tenant, 'same'), terms: [] }]))),
    )
    assert.deepEqual(outcomes.map(({ committed }) => committed).sort(), [false, true])
    for (const store of stores) assert.ok(await store.getToken(tenant, 'same'))
    await writer.close()
    folder.remove()
  })
})
