import assert from 'node:assert/strict'
import { createHmac, createSecretKey } from 'node:crypto'
import { describe, test } from 'node:test'
import { hmacSha256 } from '../../src/crypto/hmac.ts'
import { anyCharacter } from '../rig/any-character.ts'
import { fc } from '../rig/properties.ts'

describe('HMAC-SHA-256', () => {
  const vectors = [
    {
      key: Buffer.alloc(20, 0x0b),
      message: 'Hi There',
      mac: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    },
    {
      key: Buffer.from('Jefe'),
      message: 'what do ya want for nothing?',
      mac: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    },
  ]
  for (const { key, message, mac } of vectors)
    test(`C14.1 the MAC of "${message}" is that of RFC 4231`, () => {
      assert.equal(hmacSha256(createSecretKey(key), message), mac)
    })

  test('C14.1 the MAC equals that of node:crypto for any key and any sequence of messages', () => {
    const message = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 400 }),
      // On both sides of the length from which node:crypto is used.
      fc
        .tuple(fc.constantFrom('a', 'é', '€', '😀', '\ud800'), fc.integer({ min: 330, max: 350 }))
        .map(([character, count]) => character.repeat(count)),
    )
    const keyBytes = fc.uint8Array({ minLength: 1, maxLength: 64 })
    fc.assert(
      fc.property(keyBytes, fc.array(message, { minLength: 1, maxLength: 4 }), (bytes, messages) => {
        const key = createSecretKey(bytes)
        for (const text of messages)
          assert.equal(hmacSha256(key, text), createHmac('sha256', key).update(text).digest('hex'))
      }),
    )
  })

  test('C14.1 a key longer than a block is refused, not misused', () => {
    assert.throws(() => hmacSha256(createSecretKey(Buffer.alloc(65)), 'text'), /longer than a block/)
  })
})
