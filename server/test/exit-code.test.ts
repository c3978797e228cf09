import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const runTests = (name: string) => {
  const program = join(import.meta.dirname, 'rig', name)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return spawnSync(process.execPath, ['--test', program], { env, encoding: 'utf8', timeout: 60_000 })
}

test('a run whose test waits for what never comes exits with code 1, and does not leave out the rest (docs/testing.md)', () => {
  assert.equal(runTests('waits-for-ever.ts').status, 1)
})

test('an error that nobody catches ends the run with code 1 and is shown (docs/testing.md)', () => {
  const { status, stdout } = runTests('throws-unheard.ts')
  assert.equal(status, 1)
  assert.match(stdout, /Error: unheard\n +at .*throws-unheard\.ts/)
})
