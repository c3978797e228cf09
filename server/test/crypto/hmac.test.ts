import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { describe, test } from 'node:test'
import { hmacSha256 } from '../../src/crypto/keyed-hashes.ts'

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
    {
      // Longer than a block.
      key: Buffer.alloc(131, 0xaa),
      message: 'Test Using Larger Than Block-Size Key - Hash Key First',
      mac: '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    },
  ]
  for (const { key, message, mac } of vectors)
    test(`the MAC of "${message}" is that of RFC 4231 (C14.1)`, () => {
      assert.equal(hmacSha256(createSecretKey(key), message), mac)
    })
})
