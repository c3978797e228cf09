import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

test('docs/testing.md: a failed run exits with code 1, although the embedded database ends every process with 0', () => {
  const program = join(import.meta.dirname, 'rig/ends-with-one.ts')
  assert.equal(spawnSync(process.execPath, [program]).status, 1)
})

test('docs/testing.md: a run whose test waits for what never comes exits with code 1, and does not leave out the rest', () => {
  const program = join(import.meta.dirname, 'rig/waits-for-ever.ts')
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  assert.equal(spawnSync(process.execPath, ['--test', program], { env }).status, 1)
})
