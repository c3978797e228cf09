import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMutants } from './mutant.ts'
import { fits } from './workshop.ts'

test('docs/testing.md: every planted bug still fits the code', () => {
  const mutants = readMutants(import.meta.dirname)
  assert.ok(mutants.length > 0)
  assert.deepEqual(
    mutants.filter(mutant => !fits(mutant)).map(({ name }) => name),
    [],
  )
})
