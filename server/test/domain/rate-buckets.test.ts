import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateBuckets } from '../../src/domain/rate-buckets.ts'

test('ten thousand keys in use each keep their own limit (C2.22)', () => {
  const take = rateBuckets({ perSecond: 1, burst: 1 }, () => 0)
  const keys = Array.from({ length: 10_000 }, (_, index) => `key ${index}`)
  const allowed = (): number => keys.filter(key => take(key) === 0).length
  assert.equal(allowed(), keys.length)
  assert.equal(allowed(), 0)
})

test('one key too many to remember drops no more than about half of the buckets (C2.22)', () => {
  const take = rateBuckets({ perSecond: 1, burst: 1 }, () => 0)
  for (let index = 0; index <= 10_000; index++) take(`key ${index}`)
  const limited = Array.from({ length: 10_001 }, (_, index) => take(`key ${10_000 - index}`)).filter(Boolean)
  assert.ok(limited.length >= 5_000, `${limited.length} keys are still limited`)
})
