import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeChanges } from '../../src/store/postgres/packed-changes.ts'

test('changes of several sets become one, however many rows they have (C2.23)', () => {
  const rows = Array.from({ length: 300_000 }, (_, n) => ({ token_id: `${n}` }))
  const merged = mergeChanges([{ dropTransient: rows }, { dropTransient: rows, putReport: [] }])
  assert.deepEqual([merged.dropTransient?.length, merged.putReport?.length], [600_000, 0])
})
