import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fillRandom, randomBelow } from '../../src/crypto/random.ts'
import { newUuid } from '../../src/crypto/uuid.ts'

const draw = (length: number): Buffer => {
  const bytes = Buffer.alloc(length)
  fillRandom(bytes)
  return bytes
}

describe('randomness', () => {
  test('the pool never hands out the same bytes twice, whatever is drawn from it (SECURITY.md)', () => {
    const seen = new Set<string>()
    let blocks = 0
    const note = (bytes: Uint8Array): void => {
      for (let start = 0; start + 8 <= bytes.length; start += 8) {
        seen.add(Buffer.from(bytes.subarray(start, start + 8)).toString('latin1'))
        blocks++
      }
    }
    for (const length of [8, 12, 16, 32, 4_088, 4_095, 4_096, 4_097, 8_192, 10_000])
      for (let i = 0; i < 50; i++) {
        note(draw(length))
        note(draw(8 + randomBelow(60)))
      }
    for (let i = 0; i < 50_000; i++) note(draw(12))
    assert.equal(seen.size, blocks)
  })

  test('a target is filled exactly, and nothing around it (SECURITY.md)', () => {
    for (const length of [0, 1, 12, 4_096, 5_000]) {
      const around = new Uint8Array(length + 16)
      fillRandom(around.subarray(8, 8 + length))
      assert.deepEqual([...around.subarray(0, 8), ...around.subarray(8 + length)], new Array(16).fill(0))
      if (length > 1_000) assert.ok(around.subarray(8, 8 + length).filter(byte => byte === 0).length < 60)
    }
  })

  test('ids are unique UUIDs of version 7 (C16.1)', () => {
    const ids = Array.from({ length: 20_000 }, newUuid)
    assert.equal(new Set(ids).size, ids.length)
    for (const id of ids)
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    // Nothing is counted: the bits after the time are random, too.
    assert.ok(new Set(ids.map(id => id.slice(15, 18))).size > 4_000)
    assert.ok(
      Math.abs(Number.parseInt((ids[0] ?? '').replace('-', '').slice(0, 12), 16) - Date.now()) < 60_000,
    )
  })
})
