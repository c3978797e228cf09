import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { indexHash, matchTagHash } from '../../src/crypto/keyed-hashes.ts'
import { fixedKey, newTenantKeys } from './test-keys.ts'

describe('index hashes', () => {
  const keys = newTenantKeys({ index: fixedKey })
  const hex = (field: string, value: string, by = keys) => indexHash(by, field, value).toString('hex')

  test('the hashes under a key never change: the stored index depends on them (C24.6)', () => {
    assert.equal(hex('type', 'card'), '1cf9b96eea0f0eb9ec30e60b')
    assert.equal(hex('metadata.color', 'red'), '75b2203f0eeb9e9d1f673108')
  })

  test('the hashes of a fingerprint and its tag never change (C15.3, C24.6)', () => {
    assert.equal(hex('fingerprint', 'fingerprint'), '875389ab78617b9dc3cf91cd')
    assert.equal(matchTagHash(keys, 'tag').toString('hex'), 'c619a35c0c1515f9')
  })

  test('equal values of different fields have different hashes, wherever the field ends and the value begins (C24.6)', () => {
    const pairs = [
      ['type', 'card'],
      ['container', 'card'],
      ['fingerprint', 'card'],
      ['data', 'card'],
      ['metadata.a', 'card'],
      ['metadata.b', 'card'],
      ['metadata', 'a.card'],
      ['metadata.a","b', 'c'],
      ['metadata.a', 'b","c'],
      ['data', ''],
      ['', 'data'],
      ['data', '\ud800'],
      ['data', '\udfff'],
      ['data', '\ufffd'],
    ] as const
    assert.equal(new Set(pairs.map(([field, value]) => hex(field, value))).size, pairs.length)
  })

  test('equal terms of two tenants have different hashes (§1.3, C31.9)', () => {
    const other = newTenantKeys()
    for (const field of ['type', 'data']) assert.notEqual(hex(field, 'card'), hex(field, 'card', other))
  })
})
