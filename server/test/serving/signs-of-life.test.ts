import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignsOfLife } from '../../src/cli/workers/signs-of-life.ts'

test('a worker that leaves six questions in a row unanswered hangs, and no other does (C35.1)', () => {
  const signs = new SignsOfLife<object>()
  /** Whether it hangs, before it is asked and after each question. */
  const ask = (worker: object, times: number): boolean[] => {
    const before = signs.isHanging(worker)
    const after = Array.from({ length: times }, () => {
      signs.asked(worker)
      return signs.isHanging(worker)
    })
    return [before, ...after]
  }
  const hangsAfterSix = [...Array(6).fill(false), true]
  assert.deepEqual(ask({}, 6), hangsAfterSix)
  const [lively, busy] = [{}, {}]
  for (let round = 0; round < 20; round++) {
    assert.deepEqual(ask(lively, 1), [false, false])
    signs.heard(lively)
  }
  assert.deepEqual(ask(busy, 5), Array(6).fill(false))
  signs.heard(busy)
  assert.deepEqual(ask(busy, 6), hangsAfterSix)
})
