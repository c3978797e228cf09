import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchResult, CommitQueue } from '../../src/store/commit-queue.ts'
import { StoreOverloadedError, StoreUnavailableError } from '../../src/store/port.ts'
import type { WriteSet } from '../../src/store/write-set.ts'
import { TestLogPart } from '../rig/log-parts.ts'
import { tokenRow, writeSet } from './contract/rig.ts'

/** The tenants of each batch, in the order in which batches began, and the most batches under way at once. */
const batchesOf = async (options: { inFlightMax?: number; oneTenant?: boolean }) => {
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

test('waiting sets are committed together, tenant by tenant in turn (C27.1)', async () => {
  assert.deepEqual(await batchesOf({}), { batches: [[1, 2, 3, 1, 2, 1]], most: 1 })
})

test('on a sharded database a batch holds one tenant (C27.1)', async () => {
  const { batches } = await batchesOf({ oneTenant: true })
  assert.deepEqual(batches, [[1, 1, 1], [2, 2], [3]])
})

test('as many batches are in flight at the same time as may be (C27.1)', async () => {
  const { batches, most } = await batchesOf({ inFlightMax: 2, oneTenant: true })
  assert.deepEqual(batches, [[1, 1, 1], [2, 2], [3]])
  assert.equal(most, 2)
})

test('who waits for the sets before it does not wait for those that keep coming after it (C11.1)', async () => {
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

test('a batch is bounded, and no set is left behind (C27.1)', async () => {
  const sizes: number[] = []
  const queue = new CommitQueue(async sets => {
    sizes.push(sets.length)
    return sets.map(() => ({ committed: true }))
  })
  await Promise.all(Array.from({ length: 1_200 }, () => queue.add(writeSet(1, {}))))
  assert.deepEqual(sizes.splice(0), [1_000, 200])
  const withSealed = (bytes: number): WriteSet => {
    const row = tokenRow(1, 'large', { sealed: new Uint8Array(bytes) })
    return writeSet(1, { guarded: [{ kind: 'insertToken', row }] })
  }
  await Promise.all(Array.from({ length: 5 }, () => queue.add(withSealed(400 * 1_024))))
  assert.deepEqual(sizes.splice(0), [2, 2, 1], 'bytes count')
  const withLog = () => writeSet(1, { log: new TestLogPart([{ text: 'a', at: 1 }], 400 * 1_024) })
  await Promise.all(Array.from({ length: 5 }, () => queue.add(withLog())))
  assert.deepEqual(sizes.splice(0), [2, 2, 1], 'and so do those of records')
  await Promise.all([1, 1 << 24, 1, 1 << 24, 1].map(bytes => queue.add(withSealed(bytes))))
  assert.deepEqual(sizes, [1, 1, 1, 1, 1], 'what is more than a batch is committed alone')
})

/** Sets of so many rows. */
const setOf = (tenant: number, rows: number): WriteSet =>
  writeSet(tenant, { counters: Array.from({ length: rows - 1 }, (_, n) => ({ name: `${n}`, by: 1 })) })

test('a tenant waits for one batch at most, however much of another tenant waits before it (C37.1)', async () => {
  const batches: number[][] = []
  const queue = new CommitQueue(async sets => {
    await new Promise(resolve => setImmediate(resolve))
    batches.push(sets.map(({ tenant }) => tenant))
    return sets.map(() => ({ committed: true }))
  })
  const flood = Array.from({ length: 60 }, () => queue.add(setOf(1, 500)))
  await new Promise(resolve => setImmediate(resolve))
  const before = batches.length
  await Promise.all([queue.add(setOf(2, 10)), queue.add(setOf(3, 10))])
  assert.ok(batches.length <= before + 2, `${batches.length - before} batches`)
  await Promise.all(flood)
})

test('tenants that have equally much waiting are served equally, whatever the size of their sets (C37.1)', async () => {
  const served = new Map<number, number>()
  let isHalf = false
  const queue = new CommitQueue(async sets => {
    for (const { tenant, counters } of sets)
      if (!isHalf) served.set(tenant, (served.get(tenant) ?? 0) + counters.length + 1)
    isHalf = (served.get(1) ?? 0) + (served.get(2) ?? 0) >= 20_000
    return sets.map(() => ({ committed: true }))
  })
  await Promise.all([
    ...Array.from({ length: 20 }, () => queue.add(setOf(1, 900))),
    ...Array.from({ length: 1_800 }, () => queue.add(setOf(2, 10))),
  ])
  const [one = 0, two = 0] = [served.get(1), served.get(2)]
  assert.ok(Math.abs(one - two) <= 1_800, `${one} and ${two}`)
})

test('sets of a tenant keep their order (C37.1)', async () => {
  const order: number[] = []
  const queue = new CommitQueue(async sets => {
    for (const { tenant, counters } of sets) if (tenant === 1) order.push(counters.length)
    return sets.map(() => ({ committed: true }))
  })
  const sizes = [400, 1, 3_000, 2, 700, 5]
  await Promise.all(sizes.flatMap(size => [queue.add(setOf(1, size + 1)), queue.add(setOf(2, 600))]))
  assert.deepEqual(order, sizes)
})

test('sets that are more than a batch leave room in flight for the rest (C37.1)', async () => {
  const heavy: (() => void)[] = []
  const queue = new CommitQueue(
    async sets => {
      if (sets.some(({ tenant }) => tenant === 1)) await new Promise<void>(resolve => heavy.push(resolve))
      return sets.map(() => ({ committed: true }))
    },
    { inFlightMax: 3 },
  )
  const flood = Array.from({ length: 4 }, () => queue.add(setOf(1, 5_000)))
  for (let time = 0; time < 20; time++) await queue.add(setOf(2, 10))
  assert.equal(heavy.length, 1)
  for (let done = 0; done < flood.length; done++) {
    heavy[done]?.()
    await flood[done]
    await new Promise(resolve => setImmediate(resolve))
  }
})

test('a tenant whose backlog is large is refused, others are let in, and so is it once the backlog is gone (C37, C2)', async () => {
  let release = (): void => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const queue = new CommitQueue(async sets => {
    await held
    return sets.map(() => ({ committed: true }))
  })
  const outcomes = (tenant: number, count: number, rows: number) =>
    Promise.allSettled(Array.from({ length: count }, () => queue.add(setOf(tenant, rows))))
  const flood = outcomes(1, 300, 500)
  const heavy = outcomes(4, 3, 200_000)
  const others = outcomes(2, 3, 300)
  release()
  const refusedOf = async (asked: typeof flood) =>
    (await asked).filter(
      outcome => outcome.status === 'rejected' && outcome.reason instanceof StoreOverloadedError,
    ).length
  assert.ok((await refusedOf(flood)) >= 195, 'half of the room at most')
  assert.equal(await refusedOf(heavy), 2, 'one set may always wait, however large')
  assert.equal(await refusedOf(others), 0)
  assert.equal(await refusedOf(outcomes(1, 100, 500)), 0)
})

test('a set that storage gives no result for is not taken for stored (C27.1)', async () => {
  const queue = new CommitQueue(async () => [{ committed: true }])
  const [first, second] = await Promise.allSettled([1, 2].map(tenant => queue.add(writeSet(tenant, {}))))
  assert.deepEqual(first, { status: 'fulfilled', value: { committed: true } })
  assert.ok(second?.status === 'rejected' && second.reason instanceof StoreUnavailableError)
})

test('who waits for the sets before it waits for those that are being committed, too (C27.1)', async () => {
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
