import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { simulate } from './simulate.ts'

// The same each time, so that a change is judged by itself; `npm run test:sim` looks elsewhere and for longer,
// shrinks what fails and prints it.
describe('a simulated vault (sqlite)', () => {
  const names =
    'C27.1 C18.6 C15.6 C17.4 C11.1 C12.2 C13.1 C28.3 C32.3 C33.5 every answer and every write is as a model says, whatever fails and in whatever order'
  test(names, async () => {
    const seed = 4
    const { failure } = await simulate({ seed, steps: 4_000 })
    assert.equal(failure?.error, undefined, `npm run test:sim -- --seed ${seed} --steps 4000`)
  })
})
