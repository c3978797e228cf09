import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignsOfLife } from '../../src/cli/workers/signs-of-life.ts'

test('C35.1 a worker that leaves six questions in a row unanswered hangs, and no other does', () => {
  const signs = new SignsOfLife<object>()
  const asked = (worker: object, times: number): boolean[] =>
    Array.from({ length: times }, () => signs.isHanging(worker))
  assert.deepEqual(asked({}, 7), [...Array(6).fill(false), true])
  const [lively, busy] = [{}, {}]
  for (let round = 0; round < 20; round++) {
    assert.equal(signs.isHanging(lively), false)
    signs.heard(lively)
  }
  assert.deepEqual(asked(busy, 6), Array(6).fill(false))
  signs.heard(busy)
  assert.deepEqual(asked(busy, 7), [...Array(6).fill(false), true])
})
