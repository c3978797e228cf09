import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VaultError } from '../../src/domain/errors.ts'
import { retryQueues } from '../../src/operations/vault/retry-queues.ts'
import { retryOnConflict } from '../../src/operations/writing/retry-on-conflict.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import type { Outcome } from '../../src/store/write-set.ts'

const lost: Outcome = { committed: false, conflict: 'tokenChanged' }
const won: Outcome = { committed: true }
const newVault = () => ({ retryQueues: retryQueues() })

test('a writer that loses every attempt is told to try again, and when (C18.8, C2.18)', async () => {
  const refused = retryOnConflict(newVault(), 'a', async () => ({ outcome: lost, answer: 'never' }))
  await assert.rejects(refused, error => {
    assert.ok(error instanceof VaultError)
    assert.equal(error.code, 'writeContention')
    assert.deepEqual(error.headers, { 'retry-after': '1' })
    return true
  })
})

for (const losses of [0, 1, 2, 100])
  test(`a writer that loses ${losses} attempts is answered from the attempt it wins (C18.8)`, async () => {
    let attempts = 0
    const answer = await retryOnConflict(newVault(), 'a', async () => ({
      outcome: attempts < losses ? lost : won,
      answer: ++attempts,
    }))
    assert.equal(answer, losses + 1)
  })

/** Writers that all run their first attempt at once and lose it. Each later attempt takes some steps, in which others could run. */
const losers = (vault: ReturnType<typeof newVault>) => {
  const seen = { first: 0, atOnce: 0, atOnceMax: 0, order: [] as number[] }
  const write = (writer: number, name = 'a', failure?: Error): Promise<number> => {
    let attempts = 0
    return retryOnConflict(vault, name, async () => {
      if (attempts++ === 0) {
        seen.first++
        return { outcome: lost, answer: writer }
      }
      seen.atOnceMax = Math.max(seen.atOnceMax, ++seen.atOnce)
      for (let step = 0; step < 10; step++) await undefined
      seen.atOnce--
      seen.order.push(writer)
      if (failure !== undefined) throw failure
      return { outcome: won, answer: writer }
    })
  }
  return { seen, write }
}

test('writers that lost an attempt to the same thing go one after another, in the order in which they lost (C18.8)', async () => {
  const vault = newVault()
  const { seen, write } = losers(vault)
  const all = Array.from({ length: 20 }, (_, writer) => write(writer))
  assert.equal(seen.first, 20, 'the first attempt waits for nobody')
  const expected = Array.from({ length: 20 }, (_, writer) => writer)
  assert.deepEqual(await Promise.all(all), expected)
  assert.deepEqual([seen.atOnceMax, seen.order], [1, expected])
  assert.equal(vault.retryQueues.size, 0, 'a queue in which nobody is left is forgotten')
})

test('writers of different things do not wait for one another (C18.8)', async () => {
  const { seen, write } = losers(newVault())
  await Promise.all([write(1, 'a'), write(2, 'b'), write(3, 'c')])
  assert.equal(seen.atOnceMax, 3)
})

test('a writer whose attempt fails gets its error, and those behind it go on (C18.8)', async () => {
  const vault = newVault()
  const { seen, write } = losers(vault)
  const gone = new VaultError('notFound')
  const outcomes = await Promise.allSettled([write(1), write(2, 'a', gone), write(3), write(4, 'a', gone)])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  assert.deepEqual([seen.order, vault.retryQueues.size], [[1, 2, 3, 4], 0])
})

test('if storage fails a writer, those behind it do not wait for storage one after another (C2.23)', async () => {
  const vault = newVault()
  const { seen, write } = losers(vault)
  const outage = new StoreUnavailableError('storage cannot be read')
  const outcomes = await Promise.allSettled([
    write(1),
    write(2, 'a', outage),
    write(3),
    write(4),
    write(5, 'b'),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'],
  )
  assert.deepEqual([seen.order.toSorted(), vault.retryQueues.size], [[1, 2, 5], 0])
  assert.equal(await write(6), 6, 'whoever comes later tries again')
})
