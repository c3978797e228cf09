import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchResult, CommitQueue } from '../../src/store/commit-queue.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { tokenRow, writeSet } from './contract/rig.ts'

/** The tenants of each batch, in the order in which batches began, and the most batches under way at once. */
const batchesOf = async (options: { lanes?: number; oneTenant?: boolean }) => {
  const batches: number[][] = []
  let [underWay, most] = [0, 0]
  const queue = new CommitQueue(async sets => {
    batches.push(sets.map(({ tenant }) => tenant))
    most = Math.max(most, ++underWay)
    await new Promise(resolve => setImmediate(resolve))
    underWay--
    return sets.map(() => ({ committed: true }))
  }, options)
  await Promise.all([1, 2, 1, 3, 2, 1].map(tenant => queue.add(writeSet(tenant, {}))))
  return { batches, most }
}

test('C27.1 waiting sets are committed together, in the order in which they came', async () => {
  assert.deepEqual(await batchesOf({}), { batches: [[1, 2, 1, 3, 2, 1]], most: 1 })
})

test('C27.1 on a sharded database a batch holds one tenant', async () => {
  const { batches } = await batchesOf({ oneTenant: true })
  assert.deepEqual(batches, [[1, 1, 1], [2, 2], [3]])
})

test('C27.1 lanes work at the same time, each on one batch', async () => {
  const { batches, most } = await batchesOf({ lanes: 2, oneTenant: true })
  assert.deepEqual(batches, [[1, 1, 1], [2, 2], [3]])
  assert.equal(most, 2)
})

test('C11.1 who waits for the sets before it does not wait for those that keep coming after it', async () => {
  const committed: number[] = []
  let isOver = false
  const turn = () => new Promise(resolve => setImmediate(resolve))
  const queue = new CommitQueue(async sets => {
    await turn()
    await turn()
    committed.push(...sets.map(({ tenant }) => tenant))
    return sets.map(() => ({ committed: true }))
  })
  const keepAdding = async (): Promise<void> => {
    for (let tenant = 10; !isOver; tenant++) {
      void queue.add(writeSet(tenant, {}))
      await turn()
    }
  }
  void queue.add(writeSet(1, {}))
  const adding = keepAdding()
  await turn()
  void queue.add(writeSet(2, {}))
  await queue.drain()
  isOver = true
  assert.ok(committed.includes(1) && committed.includes(2))
  await adding
})

test('C27.1 a batch is bounded, and no set is left behind', async () => {
  const sizes: number[] = []
  const queue = new CommitQueue(async sets => {
    sizes.push(sets.length)
    return sets.map(() => ({ committed: true }))
  })
  await Promise.all(Array.from({ length: 1_200 }, () => queue.add(writeSet(1, {}))))
  assert.deepEqual(sizes.splice(0), [500, 500, 200])
  const row = tokenRow(1, 'large', { sealed: new Uint8Array(1 << 24) })
  const large = writeSet(1, { guarded: [{ kind: 'insertToken', row }] })
  await Promise.all(Array.from({ length: 5 }, () => queue.add(large)))
  assert.deepEqual(sizes, [2, 2, 1])
})

test('C27.1 a set that storage gives no result for is not taken for stored', async () => {
  const queue = new CommitQueue(async () => [{ committed: true }])
  const [first, second] = await Promise.allSettled([1, 2].map(tenant => queue.add(writeSet(tenant, {}))))
  assert.deepEqual(first, { status: 'fulfilled', value: { committed: true } })
  assert.ok(second?.status === 'rejected' && second.reason instanceof StoreUnavailableError)
})

test('C27.1 who waits for the sets before it waits for those that are being committed, too', async () => {
  const turn = () => new Promise(resolve => setImmediate(resolve))
  let answer: (results: BatchResult[]) => void = () => {}
  const queue = new CommitQueue(
    () =>
      new Promise(resolve => {
        answer = resolve
      }),
  )
  const order: string[] = []
  const stored = queue.add(writeSet(1, {})).then(() => order.push('stored'))
  await turn()
  const drained = queue.drain().then(() => order.push('drained'))
  await turn()
  answer([{ committed: true }])
  await Promise.all([stored, drained])
  assert.deepEqual(order, ['stored', 'drained'])
})
