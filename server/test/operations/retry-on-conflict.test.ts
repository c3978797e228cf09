import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VaultError } from '../../src/domain/errors.ts'
import { retryOnConflict } from '../../src/operations/writing/retry-on-conflict.ts'
import type { Outcome } from '../../src/store/write-set.ts'

const lost: Outcome = { committed: false, conflict: 'tokenChanged' }

test('C18.8 C2.18 a writer that loses every round is told to try again, and when', async () => {
  const refused = retryOnConflict(async () => ({ outcome: lost, answer: 'never' }))
  await assert.rejects(refused, error => {
    assert.ok(error instanceof VaultError)
    assert.equal(error.code, 'writeContention')
    assert.deepEqual(error.headers, { 'retry-after': '1' })
    return true
  })
})

test('C18.8 a writer that loses some rounds is answered from the round it wins', async () => {
  let rounds = 0
  const outcomes: Outcome[] = [lost, lost, { committed: true }]
  const answer = await retryOnConflict(async () => ({ outcome: outcomes[rounds] ?? lost, answer: ++rounds }))
  assert.equal(answer, 3)
})

test('C18.8 a writer that loses to a hundred others is answered all the same', async () => {
  let rounds = 0
  const answer = await retryOnConflict(async () => ({
    outcome: rounds < 100 ? lost : { committed: true },
    answer: ++rounds,
  }))
  assert.equal(answer, 101)
})
