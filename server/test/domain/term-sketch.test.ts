import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TermSketch } from '../../src/domain/index-report/term-sketch.ts'

/** 48-bit numbers, as evenly spread as keyed hashes and the same in every run. */
const spread = (serial: number): number => {
  let x = (serial + 1) * 0x9e3779b1
  const bits = (): number => {
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
    x = (x ^ (x >>> 16)) + serial
    return (x >>> 0) & 0xffffff
  }
  return bits() * 0x1000000 + bits()
}

const sketchOf = (counts: readonly number[], through = (sketch: TermSketch) => sketch): TermSketch => {
  let sketch = new TermSketch()
  const left = [...counts]
  // In turns, so that common terms come between the rare ones.
  for (let round = 0; left.some(count => count > 0); round++)
    left.forEach((count, term) => {
      if (count === 0) return
      sketch.add(spread(term))
      left[term] = count - 1
      if (round % 7 === 0) sketch = through(sketch)
    })
  return sketch
}

describe('a sketch of terms', () => {
  test('an empty sketch reports zeros (C26)', () => {
    const { tokens, distinct, largestShare } = new TermSketch()
    assert.deepEqual([tokens, distinct, largestShare], [0, 0, 0])
  })

  test('a few terms are counted exactly, even if the sketch is stored and read back in between (C26)', () => {
    const again = (sketch: TermSketch) => new TermSketch(JSON.parse(JSON.stringify(sketch.state)))
    for (const through of [(sketch: TermSketch) => sketch, again]) {
      const sketch = sketchOf([50, 30, 20, ...Array(100).fill(1)], through)
      assert.deepEqual([sketch.tokens, sketch.distinct, sketch.largestShare], [200, 103, 0.25])
    }
  })

  for (const terms of [600, 5_000, 100_000])
    test(`the estimate for ${terms} terms is within 15 %, and the state of the sketch stays bounded (C26)`, () => {
      const sketch = sketchOf(Array(terms).fill(1))
      assert.ok(Math.abs(sketch.distinct / terms - 1) < 0.15, String(sketch.distinct))
      assert.ok(sketch.largestShare < 1 / 129)
      const { smallest, common } = sketch.state
      assert.ok(smallest.length <= 512 && common.length <= 128)
    })

  test('a term shared by many tokens is found among many rare ones, with a share at most 1/129 too low (C26)', () => {
    const sketch = sketchOf([9_000, 1_000, ...Array(20_000).fill(1)])
    const share = 9_000 / 30_000
    assert.ok(
      sketch.largestShare <= share && sketch.largestShare >= share - 1 / 129,
      String(sketch.largestShare),
    )
  })
})
