import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { type KeyProvider, KeyProviderError } from '../../src/keys/key-provider.ts'
import { newTenantKeys, newVaultKeys, newWrappedKey } from '../../src/keys/make-keys.ts'
import { needsOlderMasterKey, rewrap } from '../../src/keys/rewrap-key.ts'
import { unwrapTenantKeys, unwrapVaultKeys } from '../../src/keys/unwrap-keys.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

describe('wrapped keys', () => {
  const folder = temporaryFolder()
  createMasterKeyFile(join(folder.path, 'master.key'))
  const provider = fileKeyProvider(join(folder.path, 'master.key'))
  after(() => folder.remove())

  test('a tenant has a data, an index and a fingerprint key, all different (C31.7)', async () => {
    const wrapped = await newTenantKeys(provider, 'a tenant')
    assert.deepEqual(
      wrapped.map(({ purpose, version }) => `${purpose} ${version}`),
      ['data 1', 'index 1', 'fingerprint 1'],
    )
    const keys = await unwrapTenantKeys(provider, 'a tenant', wrapped)
    const all = [keys.data.get(1), keys.index, keys.fingerprint].map(key => key?.export().toString('hex'))
    assert.equal(new Set(all).size, 3)
    for (const key of all) assert.match(key ?? '', /^[0-9a-f]{64}$/)
    for (const { wrapped: bytes } of wrapped)
      for (const key of all) assert.ok(!Buffer.from(bytes).includes(key ?? '', 0, 'hex'))
  })

  test('new rows use the newest data key, and the others remain for old rows (C31.7)', async () => {
    const first = await newTenantKeys(provider, 'a tenant')
    const second = await newWrappedKey(provider, 'a tenant', 'data', 2)
    const tenth = await newWrappedKey(provider, 'a tenant', 'data', 10)
    const keys = await unwrapTenantKeys(provider, 'a tenant', [tenth, ...first, second])
    assert.equal(keys.currentDataVersion, 10)
    assert.deepEqual(
      [...keys.data.keys()].sort((a, b) => a - b),
      [1, 2, 10],
    )
    const before = await unwrapTenantKeys(provider, 'a tenant', first)
    assert.ok(keys.fingerprint.equals(before.fingerprint))
    assert.ok(keys.data.get(1)?.equals(before.data.get(1) ?? keys.index))
  })

  test('a wrapped key moved to another tenant, purpose or version is refused (C31.7, §1.3)', async () => {
    const wrapped = await newTenantKeys(provider, 'a tenant')
    const [data, index, fingerprint] = wrapped
    assert.ok(data && index && fingerprint)
    const moves = {
      'to another tenant': unwrapTenantKeys(provider, 'another', wrapped),
      'to another purpose': unwrapTenantKeys(provider, 'a tenant', [
        { ...index, purpose: 'data' },
        { ...data, purpose: 'index' },
        fingerprint,
      ]),
      'to another version': unwrapTenantKeys(provider, 'a tenant', [
        { ...data, version: 2 },
        index,
        fingerprint,
      ]),
      'to the vault': unwrapVaultKeys(provider, [
        { ...data, purpose: 'grants' },
        { ...index, purpose: 'api-keys' },
      ]),
    }
    for (const [move, result] of Object.entries(moves)) await assert.rejects(result, KeyProviderError, move)
  })

  test('a missing key is an error and is never made up (C31.7)', async () => {
    const wrapped = await newTenantKeys(provider, 'a tenant')
    for (const missing of ['data', 'index', 'fingerprint'])
      await assert.rejects(
        unwrapTenantKeys(
          provider,
          'a tenant',
          wrapped.filter(({ purpose }) => purpose !== missing),
        ),
        new KeyProviderError(`storage holds no key for ${missing} of a tenant`),
      )
    await assert.rejects(unwrapVaultKeys(provider, []), /storage holds no key/)
  })

  test('no bytes of a key are left behind where it was made, wrapped or unwrapped (ARCHITECTURE.md keys)', async () => {
    const passed: Uint8Array[] = []
    const watched: KeyProvider = {
      ...provider,
      wrap: (key, context) => {
        passed.push(key)
        return provider.wrap(key, context)
      },
      unwrap: async (wrapped, context) => {
        const key = await provider.unwrap(wrapped, context)
        passed.push(key)
        return key
      },
      isCurrent: async () => false,
    }
    const wrapped = await newTenantKeys(watched, 'a tenant')
    await unwrapTenantKeys(watched, 'a tenant', wrapped)
    for (const key of wrapped) {
      await rewrap(watched, 'a tenant', key)
      assert.equal(await needsOlderMasterKey(watched, 'a tenant', key), true)
    }
    assert.equal(passed.length, wrapped.length * 5)
    for (const bytes of passed) assert.deepEqual(Buffer.from(bytes), Buffer.alloc(32))
  })

  test('the vault has separate keys for API keys and for grants (C30.2)', async () => {
    const keys = await unwrapVaultKeys(provider, await newVaultKeys(provider))
    assert.ok(!keys.apiKeys.equals(keys.grants))
  })
})
