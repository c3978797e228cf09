import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newTokenId } from '../../src/crypto/uuid.ts'

const timeOf = (id: string | undefined): number =>
  Number.parseInt((id ?? '').replace('-', '').slice(0, 12), 16)
/** Later than in any other test of this process. */
const now = Date.UTC(2040)

describe('ids of tokens', () => {
  test('are unique UUIDs of version 7 that carry the time of the clock (C16.1)', () => {
    const ids = Array.from({ length: 20_000 }, (_, n) => newTokenId(now + n))
    assert.equal(new Set(ids).size, ids.length)
    for (const [n, id] of ids.entries()) {
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.equal(timeOf(id), now + n)
    }
  })

  test('sort in the order in which they were made, even beyond 4,096 in a millisecond (C16.1)', () => {
    const moment = now + 1_000_000
    const ids = Array.from({ length: 20_000 }, () => newTokenId(moment))
    assert.ok(ids.every((id, place) => place === 0 || id > (ids[place - 1] ?? '')))
    assert.ok(timeOf(ids.at(-1)) - moment <= 5)
  })

  test('keep their order when the clock is set back a little, and follow it when it is set back far (C16.1)', () => {
    const moment = now + 2_000_000
    const before = newTokenId(moment)
    assert.ok(newTokenId(moment - 500) > before)
    const back = newTokenId(moment - 10_000_000)
    assert.equal(timeOf(back), moment - 10_000_000)
  })

  test('reveal nothing about each other but the time: 62 bits of each are random (C16.1)', () => {
    const ids = Array.from({ length: 5_000 }, () => newTokenId(now + 3_000_000))
    const ends = ids.map(id => BigInt(`0x${id.slice(19).replace('-', '')}`) & ((1n << 62n) - 1n))
    assert.equal(new Set(ends).size, ends.length)
    for (let bit = 0n; bit < 62n; bit++) {
      const set = ends.filter(end => (end >> bit) & 1n).length
      assert.ok(set > 2_200 && set < 2_800, `bit ${bit} is set in ${set} of ${ends.length}`)
    }
  })
})
