import assert from 'node:assert/strict'
import type { Store } from '../../src/store/port.ts'
import type { Engine } from './engines.ts'

const withinMs = 1_000

/**
 * C27: a node drops its cached grants at once if storage is on its machine, and within a second if it is not. Runs
 * `act`, which changes grants elsewhere, and returns once the node has heard of it.
 */
export const untilGrantsHeard = async <T>(
  node: { engine: Engine; store: Store },
  act: () => Promise<T>,
): Promise<T> => {
  if (node.engine.name === 'sqlite') return act()
  const before = node.store.grantsEpoch()
  const result = await act()
  const doneAt = performance.now()
  while (node.store.grantsEpoch() === before) {
    assert.ok(performance.now() - doneAt < withinMs, 'a change of grants was not heard of within a second')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  return result
}
