import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { hashApiKey, isApiKey, newApiKeyText } from '../../src/crypto/api-key.ts'
import { decodeBase58 } from './decode-base58.ts'
import { fixedKey, newVaultKeys } from './test-keys.ts'

describe('API keys', () => {
  const kinds = ['public', 'general', 'private', 'management'] as const

  for (const kind of kinds)
    test(`a ${kind} key states its kind, followed by 36 random characters and a checksum of 6 (C30.1)`, () => {
      for (let i = 0; i < 200; i++) {
        const key = newApiKeyText(kind)
        assert.match(key, new RegExp(`^key_${kind}_[1-9A-HJ-NP-Za-km-z]{42}$`))
        assert.ok(isApiKey(key))
      }
    })

  test('at least 190 bits of a key are random: each is seen both set and unset (C30.1)', () => {
    const random = Array.from({ length: 400 }, () => {
      const body = newApiKeyText('private').slice('key_private_'.length, -6)
      return BigInt(`0x${decodeBase58(body).toString('hex')}`)
    })
    assert.equal(new Set(random).size, random.length)
    let varying = 0n
    for (let bit = 0n; bit < 220n; bit++) {
      const set = random.filter(value => ((value >> bit) & 1n) === 1n).length
      // Twelve standard deviations of a fair bit among 400.
      if (Math.abs(set - 200) < 120) varying++
    }
    assert.ok(varying >= 190n, `${varying} bits vary`)
  })

  test('the checksum catches every change of a single character (C30.1)', () => {
    const characters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- ']
    for (const kind of kinds) {
      const key = newApiKeyText(kind)
      for (let at = 0; at < key.length; at++)
        for (const character of characters) {
          const changed = key.slice(0, at) + character + key.slice(at + 1)
          assert.equal(isApiKey(changed), changed === key, `${at} ${character}`)
        }
    }
  })

  test('the checksum catches swapped neighbours, cuts, additions and a changed kind (C30.1)', () => {
    const key = newApiKeyText('private')
    for (let at = 0; at + 1 < key.length; at++) {
      const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2)
      assert.equal(isApiKey(swapped), swapped === key)
      assert.ok(!isApiKey(key.slice(0, at)) && !isApiKey(key.slice(at + 1)))
    }
    for (const other of [
      '',
      `${key}1`,
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
      key.replace('private', 'public'),
      key.replace('private', 'management'),
      key.replace('private', 'other'),
    ])
      assert.ok(!isApiKey(other), other)
  })

  test('a keyed hash is stored, which cannot be made with the key of another vault or without one (C30.2)', () => {
    const key = 'key_private_x'
    const keys = { ...newVaultKeys(), apiKeys: fixedKey }
    const hash = hashApiKey(keys, key)
    assert.equal(hash.toString('hex'), '60b0682e5f5eaa508fcf15043b672646e767af4f7e50aa7743d9215c30aec0c6')
    assert.deepEqual(hashApiKey(keys, key), hash)
    assert.notDeepEqual(hashApiKey(newVaultKeys(), key), hash)
    assert.notDeepEqual(hashApiKey(keys, 'key_private_y'), hash)
    assert.notDeepEqual(createHmac('sha256', '').update(key).digest(), hash)
  })
})
