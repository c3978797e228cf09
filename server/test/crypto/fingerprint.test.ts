import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fingerprintOf } from '../../src/crypto/keyed-hashes.ts'
import type { JsonType } from '../../src/domain/json/json.ts'
import { fixedKey, newKey, newTenantKeys } from './test-keys.ts'

// Computed by an independent implementation: HMAC-SHA-256 and base58 in Python.
const vectors: [tokenType: string, type: JsonType, canonical: string, fingerprint: string][] = [
  ['card', 'string', '"4242424242424242"', '8v3WPBBtU16pCMsfGzNQVBMx3gHsqfJeLp3KdRh8TaSN'],
  ['token', 'number', '8.99', '6VW6oeYDup5CkgcLz1f46ZbGobeZ6Gm78wtqqHBXKAWx'],
  ['token', 'string', '"8.99"', '9KvTx3FM8feLufbtRv8GB7xUWCwNpdeF7ggZbD9a6Yej'],
  ['token', 'object', '{"a":1,"b":[true,null]}', '4sqQvYPTRP2jadmohHig4cNPckzg92RvrrTUaHLGQgAx'],
  ['token', 'string', '"é😀"', '8Uy1JDJNsq3dGPznnGUFunMdfLmA93ybd3x8gHAo9Nm5'],
  [
    'bank',
    'object',
    '{"account_number":"1","routing_number":"021000021"}',
    'H7PB2pUsPf7fYEiawW3ynZvhFSYqhky4AqRQec577sy3',
  ],
]

describe('fingerprints', () => {
  const keys = newTenantKeys({ fingerprint: fixedKey })

  for (const [tokenType, type, canonical, fingerprint] of vectors)
    test(`the fingerprint of the ${type} ${canonical} in a ${tokenType} never changes (C14.1, C14.4)`, () => {
      assert.equal(fingerprintOf(keys, tokenType, { type, canonical }), fingerprint)
    })

  test('the token type, the JSON type and the text each change the fingerprint, and so does where each ends (C14.1)', () => {
    const all = [
      ['token', 'string', 'x'],
      ['card', 'string', 'x'],
      ['token', 'number', 'x'],
      ['token', 'string', 'y'],
      ['token', 'string', 'x\0'],
      ['token', 'string', '\0x'],
      ['token', 'string', ''],
    ].map(([tokenType = '', type, canonical = '']) =>
      fingerprintOf(keys, tokenType, { type: type as JsonType, canonical }),
    )
    assert.equal(new Set(all).size, all.length)
  })

  test('a fingerprint depends on the tenant, but on none of the keys that are rotated (C14.4, §1.3)', () => {
    const rendered = { type: 'string' as const, canonical: '"x"' }
    const own = fingerprintOf(keys, 'token', rendered)
    assert.notEqual(fingerprintOf(newTenantKeys(), 'token', rendered), own)
    const rotated = { ...keys, data: new Map([[2, newKey()]]), currentDataVersion: 2, index: newKey() }
    assert.equal(fingerprintOf(rotated, 'token', rendered), own)
  })
})
