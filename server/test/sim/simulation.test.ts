import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { simulate } from './simulate.ts'

// The same seed each time, so that a change is judged by itself. `npm run test:sim` looks elsewhere and for longer,
// shrinks a failure and prints it. This seed meets most of the bugs that are planted for the simulation.
describe('a simulated vault (sqlite)', () => {
  const names =
    'every answer and every write is as a model predicts, whatever fails and in whatever order (C15.9, C17.4, C18.8, C28.8, C32.3)'
  test(names, async () => {
    const seed = 8
    const { failure } = await simulate({ seed, steps: 4_000 })
    assert.equal(failure?.error, undefined, `npm run test:sim -- --seed ${seed} --steps 4000`)
  })
})
