import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { open, type SealContext, seal, sealedKeyVersion } from '../../src/crypto/aead.ts'
import { anyCharacter } from '../rig/any-character.ts'
import { tries } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import { damages } from './damages.ts'
import { newKey } from './test-keys.ts'

/** The format, the version of the key, the nonce and the tag. */
const overheadBytes = 1 + 4 + 12 + 16

const anyContext: fc.Arbitrary<SealContext> = fc.array(
  fc.oneof(fc.string({ unit: anyCharacter }), fc.integer(), fc.constant(null)),
  { maxLength: 4 },
)

describe('authenticated encryption', () => {
  test('any bytes under any context come back as they were (SECURITY.md)', () => {
    const key = newKey()
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        anyContext,
        fc.nat(2 ** 32 - 1),
        (text, context, version) => {
          const sealed = seal(key, version, text, context)
          assert.equal(sealed.length, text.length + overheadBytes)
          assert.equal(sealedKeyVersion(sealed), version)
          assert.deepEqual(open(key, sealed, context), Buffer.from(text))
        },
      ),
    )
    const text = 'text with ümläuts and \u{1f512}'
    assert.equal(open(key, seal(key, 1, text, []), [])?.toString(), text)
  })

  test('a value with any bit flipped or any other length does not open (SECURITY.md)', () => {
    const key = newKey()
    for (const text of ['', 'a secret of some length']) {
      const sealed = seal(key, 7, text, ['context'])
      for (const { how, bytes } of damages(sealed))
        assert.equal(open(key, bytes, ['context']), undefined, how)
      assert.equal(open(key, sealed, ['context'])?.toString(), text)
    }
  })

  test('a value opens under no other key and no other context (SECURITY.md)', () => {
    const key = newKey()
    const sealed = seal(key, 1, 'a secret', ['kind', '7', null])
    assert.equal(open(newKey(), sealed, ['kind', '7', null]), undefined)
    const others: SealContext[] = [
      [],
      ['kind', '7'],
      ['kind', 7, null],
      ['kind', '7', 'null'],
      ['kind', '7', ''],
      ['kind', '7', null, null],
      ['Kind', '7', null],
      ['kind', null, '7'],
      ['kind","7', null],
      ['kind,7', null],
    ]
    for (const other of others) assert.equal(open(key, sealed, other), undefined, JSON.stringify(other))
  })

  test('no two contexts are authenticated alike, whatever their parts hold (SECURITY.md)', () => {
    const key = newKey()
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', '"', ',', '[', ']', '\\', '\0', '\ud800', '\udc00', '\ufffd') }),
      fc.constantFrom(null, 'null', 0, 1, -1, '0', '1', '-1'),
    )
    const context = fc.array(part, { maxLength: 3 })
    fc.assert(
      fc.property(context, context, (one, other) => {
        fc.pre(one.length !== other.length || one.some((value, at) => value !== other[at]))
        assert.equal(open(key, seal(key, 1, 'a secret', one), other), undefined)
      }),
      { numRuns: 500 },
    )
  })

  test('a value may lie anywhere in a larger buffer (SECURITY.md)', () => {
    const key = newKey()
    const sealed = seal(key, 513, 'a secret', ['context'])
    const page = new Uint8Array(300).fill(9)
    page.set(sealed, 101)
    const inside = page.subarray(101, 101 + sealed.length)
    assert.equal(sealedKeyVersion(inside), 513)
    assert.equal(open(key, inside, ['context'])?.toString(), 'a secret')
  })

  test('in many thousand seals no nonce repeats and no bit of the nonces is biased (SECURITY.md)', () => {
    const key = newKey()
    const nonces = new Set<string>()
    const ones = new Array<number>(96).fill(0)
    const seals = tries(10_000)
    for (let i = 0; i < seals; i++) {
      const nonce = seal(key, 1, 'same', ['same']).subarray(5, 17)
      nonces.add(nonce.toString('latin1'))
      for (let bit = 0; bit < 96; bit++)
        if (((nonce[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0) ones[bit] = (ones[bit] ?? 0) + 1
    }
    assert.equal(nonces.size, seals)
    // Eight standard deviations: a fair bit strays that far once in 10^15.
    for (const [bit, count] of ones.entries())
      assert.ok(Math.abs(count - seals / 2) < 8 * Math.sqrt(seals / 4), `bit ${bit}: ${count} of ${seals}`)
  })
})
