import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalLog } from '../../src/http/send-problem.ts'

test('refusals are logged as a count now and then, not one by one (C2.23, C37.2)', () => {
  const lines: unknown[] = []
  const error = (fields: Record<string, unknown>, message: string): void => void lines.push([message, fields])
  let now = 0
  const note = refusalLog({ isDebug: false, error, info: error, debug: error }, () => now)
  for (let n = 0; n < 5; n++) note()
  assert.deepEqual(lines, [['overloaded', { refused: 1 }]])
  now = 10_000
  note()
  assert.deepEqual(lines[1], ['overloaded', { refused: 5 }])
})
