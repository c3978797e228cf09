import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loopTurns } from '../../src/http/loop-turns.ts'

const short = 100
const long = 10_000

describe('requests in turns of the event loop', () => {
  test('C2.23 requests of one turn proceed together step by step, at most 64 at a time', async () => {
    const { next } = loopTurns()
    const steps: string[] = []
    const request = async (number: number): Promise<void> => {
      await next(short)
      steps.push(`read ${number}`)
      await undefined
      steps.push(`answer ${number}`)
    }
    await Promise.all(Array.from({ length: 70 }, (_, number) => request(number)))
    const group = (from: number, to: number): string[] =>
      ['read', 'answer'].flatMap(step =>
        Array.from({ length: to - from }, (_, number) => `${step} ${from + number}`),
      )
    assert.deepEqual(steps, [...group(0, 64), ...group(64, 70)])
  })

  test('C2.23 C36.1 a short request waits for no more than one long one, and many turns pass between two long ones', async () => {
    const { next } = loopTurns()
    let done = 0
    const longs = Array.from({ length: 4 }, () => next(long).then(() => done++))
    const seen: number[] = []
    while (done < longs.length) {
      await next(short)
      seen.push(done)
    }
    await Promise.all(longs)
    for (const before of [1, 2, 3])
      assert.ok(seen.filter(many => many === before).length >= 16, JSON.stringify(seen))
  })

  test('C2.23 a long request has the waiting long ones ahead of it, a short one has none', async () => {
    const { next, ahead } = loopTurns()
    const waiting = [next(long), next(long), next(short)]
    assert.equal(ahead(long), 2)
    assert.equal(ahead(short), 0)
    await Promise.all(waiting)
    assert.equal(ahead(long), 0)
  })
})
