import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  intersect,
  isEmpty,
  isWithin,
  readInstant,
  readRange,
} from '../../../src/domain/search/instant-range.ts'

const at = (text: string): number => Date.parse(text)

describe('dates in a search query', () => {
  const spans: [text: string, from: string, until: string][] = [
    ['2026-03-01', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
    ['3/1/2026', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z', '2026-03-01T12:00:00.001Z'],
    ['2026-03-01T12:00:00.5+02:00', '2026-03-01T10:00:00.500Z', '2026-03-01T10:00:00.501Z'],
  ]
  for (const [text, from, until] of spans)
    test(`${text} stands for its whole day or its millisecond (C26.5)`, () =>
      assert.deepEqual(readInstant(text), { from: at(from), until: at(until) }))

  const day = { first: '2026-03-01', last: '2026-03-03' }
  const ranges: [name: string, holdsFrom: boolean, holdsTo: boolean, from: string, until: string][] = [
    ['[a TO b] includes both days in full', true, true, '2026-03-01', '2026-03-04'],
    ['{a TO b} includes neither day', false, false, '2026-03-02', '2026-03-03'],
    ['[a TO b} includes only the first day', true, false, '2026-03-01', '2026-03-03'],
    ['{a TO b] includes only the last day', false, true, '2026-03-02', '2026-03-04'],
  ]
  for (const [name, holdsFrom, holdsTo, from, until] of ranges)
    test(`${name} (C26.5)`, () =>
      assert.deepEqual(readRange({ kind: 'range', from: day.first, to: day.last, holdsFrom, holdsTo }), {
        from: at(from),
        until: at(until),
      }))

  test('a range may start within the day that ends it, and end within the day that starts it (C26.5)', () => {
    const ends = { holdsFrom: true, holdsTo: true, kind: 'range' } as const
    const noon = '2026-03-01T12:00:00Z'
    assert.deepEqual(readRange({ ...ends, from: noon, to: day.first }), {
      from: at(noon),
      until: at('2026-03-02'),
    })
    assert.deepEqual(readRange({ ...ends, from: day.first, to: noon }), {
      from: at(day.first),
      until: at(noon) + 1,
    })
    const nothing = readRange({ ...ends, from: noon, to: day.first, holdsTo: false })
    assert.ok(nothing && isEmpty(nothing), 'without that day, it holds nothing')
  })

  test('an open end sets no bound (C26.5)', () => {
    const ends = { holdsFrom: true, holdsTo: true, kind: 'range' } as const
    assert.deepEqual(readRange(ends), {})
    assert.deepEqual(readRange({ ...ends, from: day.first }), { from: at(day.first) })
    assert.deepEqual(readRange({ ...ends, to: day.first }), { until: at('2026-03-02') })
  })

  test('a range with an invalid date, or one that ends before it starts, is refused (C26.9)', () => {
    const ends = { holdsFrom: true, holdsTo: true, kind: 'range' } as const
    for (const [from, to] of [
      ['yesterday', '2026-03-01'],
      ['2026-02-30', '2026-03-01'],
      ['2026-03-01', 'now'],
      ['2026-03-02', '2026-03-01'],
      ['2026-03-02T00:00:00Z', '2026-03-01'],
      ['2026-03-01T12:00:00.001Z', '2026-03-01T12:00:00Z'],
    ])
      assert.equal(readRange({ ...ends, from: from!, to: to! }), undefined)
    assert.equal(readInstant('1772366400000'), undefined)
    const nothing = readRange({
      kind: 'range',
      from: '2026-03-01',
      to: '2026-03-01',
      holdsFrom: false,
      holdsTo: false,
    })
    assert.ok(nothing && isEmpty(nothing), 'a range without its only day is legal and holds nothing')
  })

  test('ranges include their start but not their end, and can be intersected (C26.5)', () => {
    const range = { from: 10, until: 20 }
    assert.deepEqual(
      [9, 10, 19, 20].map(instant => isWithin(instant, range)),
      [false, true, true, false],
    )
    assert.deepEqual(intersect(range, { from: 15 }), { from: 15, until: 20 })
    assert.deepEqual(intersect({}, range), range)
    assert.ok(isEmpty(intersect(range, { until: 10 })))
    assert.ok(!isEmpty({ from: 10 }))
  })
})
