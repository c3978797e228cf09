import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Token } from '../../src/domain/tokens/token.ts'
import { activityQueue } from '../../src/operations/vault/activity-queue.ts'
import type { Store } from '../../src/store/port.ts'
import type { WriteSet } from '../../src/store/write-set.ts'

/** Storage that takes no writes until it is told to. */
const refusingStore = () => {
  const marked: string[] = []
  const state = { marked, refuses: true }
  const commit = async ({ effects }: WriteSet) => {
    if (state.refuses) throw new Error('no room')
    for (const effect of effects) if (effect.kind === 'markActive') marked.push(...effect.ids)
    return { committed: true }
  }
  return { state, queue: activityQueue({ commit } as Partial<Store> as Store) }
}

const read = (...ids: string[]) => ids.map(id => ({ id, activeMonth: 0 }) as Token)

test('activity that storage did not accept is counted once it does, each token once (C32.3)', async () => {
  const { state, queue } = refusingStore()
  queue.note(1, read('a', 'b'), 0)
  await assert.rejects(queue.flush())
  queue.note(1, read('b', 'c'), 0)
  state.refuses = false
  assert.equal(await queue.flush(), 3)
  assert.deepEqual(state.marked, ['a', 'b', 'c'])
  assert.equal(await queue.flush(), 0)
})

test('reads do not fill memory while storage takes no writes (C32.3)', async () => {
  const { state, queue } = refusingStore()
  const many = 600_000
  for (let id = 0; id < many; id++) queue.note(1, read(`token ${id}`), 0)
  state.refuses = false
  assert.ok((await queue.flush()) < many)
  queue.note(1, read('another'), 0)
  assert.equal(await queue.flush(), 1)
})

test('storage that keeps one tenant waiting keeps no other from being counted (C32.3, §1.3)', async () => {
  const marked: string[] = []
  const blocked = Promise.withResolvers<never>()
  const commit = async ({ tenant, effects }: WriteSet) => {
    if (tenant === 1) return blocked.promise
    for (const effect of effects) if (effect.kind === 'markActive') marked.push(...effect.ids)
    return { committed: true }
  }
  const queue = activityQueue({ commit } as Partial<Store> as Store)
  queue.note(1, read('held'), 0)
  queue.note(2, read('a'), 0)
  queue.note(3, read('b'), 0)
  const all = queue.flush()
  await queue.settle(2, 'a')
  assert.equal(await queue.flush(3), 0, 'the flush of all had it')
  // Storage counts a token once, however often it is told.
  assert.deepEqual([...new Set(marked)].sort(), ['a', 'b'])
  blocked.reject(new Error('held for too long'))
  await assert.rejects(all, /held for too long/)
  queue.note(2, read('c'), 0)
  assert.equal(await queue.flush(2), 1)
})

test('whoever asks for the count waits for what is under way (C32.3)', async () => {
  const written = Promise.withResolvers<{ committed: true }>()
  const queue = activityQueue({ commit: () => written.promise } as Partial<Store> as Store)
  queue.note(1, read('a'), 0)
  const steps: string[] = []
  const first = queue.flush().then(() => steps.push('first'))
  const second = queue.flush(1).then(() => steps.push('second'))
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(steps, [])
  written.resolve({ committed: true })
  await Promise.all([first, second])
  assert.deepEqual(steps, ['first', 'second'])
})

test('a token that is about to be removed is counted alone, whatever others of its tenant wait for (C32.3)', async () => {
  const marked: string[] = []
  const commit = async ({ effects }: WriteSet) => {
    for (const effect of effects)
      if (effect.kind === 'markActive') {
        if (effect.ids.includes('held')) throw new Error('held for too long')
        marked.push(...effect.ids)
      }
    return { committed: true }
  }
  const queue = activityQueue({ commit } as Partial<Store> as Store)
  queue.note(1, read('held', 'free', 'other'), 0)
  await queue.settle(1, 'free')
  await queue.settle(1, 'free')
  await queue.settle(1, 'never read')
  assert.deepEqual(marked, ['free'])
  await assert.rejects(queue.flush(), /held for too long/)
  await assert.rejects(queue.settle(1, 'held'), /held for too long/)
})

test('a token that is about to be removed leaves the one that another tenant has under its id to be counted (C32.3, §1.3)', async () => {
  const marked: unknown[] = []
  const commit = async ({ tenant, effects }: WriteSet) => {
    for (const effect of effects) if (effect.kind === 'markActive') marked.push([tenant, effect.ids])
    return { committed: true }
  }
  const queue = activityQueue({ commit } as Partial<Store> as Store)
  queue.note(1, read('same'), 0)
  queue.note(2, read('same'), 0)
  await queue.settle(1, 'same')
  assert.equal(await queue.flush(), 1)
  assert.deepEqual(marked, [
    [1, ['same']],
    [2, ['same']],
  ])
})

test('whoever asks for the count while an earlier flush fails gets it from a flush of its own (C32.3)', async () => {
  let commits = 0
  const commit = async () => {
    if (++commits === 1) throw new Error('no room')
    return { committed: true }
  }
  const queue = activityQueue({ commit } as Partial<Store> as Store)
  queue.note(1, read('a'), 0)
  const [first, second] = await Promise.allSettled([queue.flush(1), queue.flush(1)])
  assert.equal(first.status, 'rejected')
  assert.deepEqual(second, { status: 'fulfilled', value: 1 })
})
