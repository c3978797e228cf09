import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOfTurn } from '../../src/http/turns.ts'

test('requests of one turn go on together and step by step, at most sixteen at a time, and a long one alone', async () => {
  const turnEnds = endOfTurn()
  const steps: string[] = []
  const request = async (number: number): Promise<void> => {
    await turnEnds(number === 18 ? 10_000 : 100)
    steps.push(`read ${number}`)
    await undefined
    steps.push(`answer ${number}`)
  }
  await Promise.all(Array.from({ length: 20 }, (_, number) => request(number)))
  const group = (from: number, to: number): string[] =>
    ['read', 'answer'].flatMap(step =>
      Array.from({ length: to - from }, (_, number) => `${step} ${from + number}`),
    )
  assert.deepEqual(steps, [...group(0, 16), ...group(16, 18), ...group(18, 19), ...group(19, 20)])
})
