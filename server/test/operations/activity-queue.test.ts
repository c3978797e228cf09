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

test('C32.3 activity that storage did not accept is counted once it does, each token once', async () => {
  const { state, queue } = refusingStore()
  queue.note(1, read('a', 'b'), 0)
  await assert.rejects(queue.flush())
  queue.note(1, read('b', 'c'), 0)
  state.refuses = false
  assert.equal(await queue.flush(), 3)
  assert.deepEqual(state.marked, ['a', 'b', 'c'])
  assert.equal(await queue.flush(), 0)
})

test('C32.3 reads do not fill memory while storage takes no writes', async () => {
  const { state, queue } = refusingStore()
  const many = 600_000
  for (let id = 0; id < many; id++) queue.note(1, read(`token ${id}`), 0)
  state.refuses = false
  assert.ok((await queue.flush()) < many)
  queue.note(1, read('another'), 0)
  assert.equal(await queue.flush(), 1)
})
