import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { growthOfFloor, growthOfPeak } from './growth.ts'

describe('growth as a soak measures it', () => {
  const saw = (at: number): number => (at * 7) % 50
  const tables: { name: string; values: number[]; growth: number }[] = [
    { name: 'a constant', values: Array.from({ length: 160 }, () => 100), growth: 0 },
    { name: 'a fluctuation', values: Array.from({ length: 200 }, (_, at) => 100 + saw(at)), growth: 0 },
    { name: 'a steady rise', values: Array.from({ length: 160 }, (_, at) => 100 + at), growth: 140 },
    {
      name: 'a rise beneath a fluctuation',
      values: Array.from({ length: 1_600 }, (_, at) => 100 + at / 10 + saw(at)),
      growth: 140,
    },
    { name: 'one peak', values: Array.from({ length: 160 }, (_, at) => (at === 80 ? 900 : 100)), growth: 0 },
  ]
  for (const { name, values, growth } of tables)
    test(`${name} counts as ${growth} (docs/testing.md)`, () =>
      assert.ok(Math.abs(growthOfFloor(values) - growth) < 3, `${growthOfFloor(values)}`))

  test('a peak that stays level counts as 0, and one that rises counts by its rise (docs/testing.md)', () => {
    const peaks = (rise: number) => Array.from({ length: 200 }, (_, at) => (at % 60) + (at < 100 ? 0 : rise))
    assert.equal(growthOfPeak(peaks(0)), 0)
    assert.equal(growthOfPeak(peaks(9)), 9)
  })
})
