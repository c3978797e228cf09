import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

test('docs/testing.md: a failed run exits with code 1, although the embedded database ends every process with 0', () => {
  const program = join(import.meta.dirname, 'rig/ends-with-one.ts')
  assert.equal(spawnSync(process.execPath, [program]).status, 1)
})
