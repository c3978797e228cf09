import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { readMutants } from './mutant.ts'
import { plant, readSources, repository } from './workshop.ts'

test('each planted bug still fits the code, and names one test file or program (docs/testing.md)', () => {
  const sources = readSources(repository)
  const mutants = readMutants(import.meta.dirname)
  assert.ok(mutants.length > 0)
  for (const mutant of mutants) {
    plant(sources, mutant)
    const { name, run } = mutant
    assert.equal(
      globSync(`server/test/**/${run[0]}`, { cwd: repository }).length,
      1,
      `${name} runs ${run[0]}`,
    )
  }
})
