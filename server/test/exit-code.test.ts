import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

/** Runs a program of tests, which must end by itself. */
const runTests = (name: string) => {
  const program = join(import.meta.dirname, 'rig', name)
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const flags = ['--test', '--test-timeout=1000', program]
  const run = spawnSync(process.execPath, flags, { env, encoding: 'utf8', timeout: 60_000 })
  // Ended from outside it would show code 1 too.
  assert.equal(run.error, undefined)
  return run
}

test('a run whose test waits for what never comes exits with code 1, and does not leave out the rest (docs/testing.md)', () => {
  const { status, stdout } = runTests('waits-for-ever.ts')
  assert.equal(status, 1)
  assert.match(stdout, /✖ waits for what never comes/)
  assert.match(stdout, /✔ comes after it/)
  // Without a limit Node waits for ever.
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  assert.match(manifest.scripts.test, / --test-timeout=\d+ /)
})

test('an error that nobody catches ends the run with code 1 and is shown (docs/testing.md)', () => {
  const { status, stdout } = runTests('throws-unheard.ts')
  assert.equal(status, 1)
  assert.match(stdout, /Error: unheard\n +at .*throws-unheard\.ts/)
})
