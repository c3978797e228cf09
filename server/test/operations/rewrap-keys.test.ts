import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addMasterKey } from '../../src/keys/file/add-master-key.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { retireMasterKeys } from '../../src/keys/file/retire-master-keys.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { newWrappedKey } from '../../src/keys/make-keys.ts'
import { countOlderWraps, rewrapKeys } from '../../src/operations/maintenance/rewrap-keys.ts'
import type { KeyRow } from '../../src/store/rows.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const keyFile = (vault: TestVault): string => join(vault.folder.path, 'master.key')

const allKeys = async ({ store }: TestVault): Promise<KeyRow[]> => {
  const keys = [...(await store.listVaultKeys())]
  for (const { tenant } of await store.listTenants()) keys.push(...(await store.listTenantKeys(tenant)))
  return keys
}

onEveryEngine('keys under a new master key', vault => {
  test('every key is re-wrapped and none changes: fingerprints, tokens and API keys stay as they were (C14.4)', async () => {
    const { tenantId, keys } = await vault().tenant({ owner })
    await vault().tenant({ owner })
    const tenantNumber = await vault().tenantNumber(tenantId)
    const second = await newWrappedKey(vault().service.vault.keyProvider, tenantId, 'data', 2)
    const sealedBefore = await vault().post('/tokens', keys.owner, { type: 'token', data: 'first' })
    await vault().store.commit({
      tenant: tenantNumber,
      guarded: [{ kind: 'insertTenantKey', row: second }],
      effects: [],
      counters: [],
      log: null,
    })
    const path = keyFile(vault())
    const old = join(vault().folder.path, 'old.key')
    copyFileSync(path, old)
    addMasterKey(path)
    const before = await allKeys(vault())
    assert.equal(await countOlderWraps(vault().service.vault), before.length)

    // Beside the running service, as an operator's command does it.
    const done = await rewrapKeys(vault().service.vault)
    assert.deepEqual(done, { rewrapped: before.length, current: 0, isShredded: true })
    const after = await allKeys(vault())
    assert.deepEqual(
      after.map(({ purpose, version }) => [purpose, version]),
      before.map(({ purpose, version }) => [purpose, version]),
    )
    for (const [index, { wrapped }] of after.entries())
      assert.notDeepEqual(Buffer.from(wrapped), Buffer.from(before[index]?.wrapped ?? []))
    assert.equal(await countOlderWraps(vault().service.vault), 0)
    assert.deepEqual(await rewrapKeys(vault().service.vault), {
      rewrapped: 0,
      current: before.length,
      isShredded: true,
    })

    retireMasterKeys(path)
    await vault().restart()
    const shown = (await vault().get(`/tokens/${sealedBefore.body.id}`, keys.owner)).body
    assert.equal(shown.data, 'first')
    const equal = await vault().post('/tokens', keys.owner, { type: 'token', data: 'first' })
    assert.equal(equal.body.fingerprint, sealedBefore.body.fingerprint)
    const [vaultKey] = await vault().store.listVaultKeys()
    assert.ok(vaultKey)
    await assert.rejects(
      fileKeyProvider(old).unwrap(vaultKey.wrapped, 'strongroom/vault/api-keys/1'),
      KeyProviderError,
    )
  })

  test('keys that do not open hold up no other, and the first of them is named (C14.4)', async () => {
    const { tenantId } = await vault().tenant({ owner })
    const tenantNumber = await vault().tenantNumber(tenantId)
    await vault().tenant({ owner })
    const whole = (await vault().store.listTenantKeys(tenantNumber)).slice(0, 2)
    const broken = whole.map(row => ({
      ...row,
      wrapped: Uint8Array.from(row.wrapped, (byte, at) => (at === 20 ? byte ^ 1 : byte)),
    }))
    const replace = async (before: readonly KeyRow[], after: readonly KeyRow[]): Promise<void> => {
      for (const [at, { wrapped }] of after.entries()) {
        const row = before[at]
        assert.ok(row && (await vault().store.replaceKey(tenantNumber, row, wrapped)))
      }
    }
    await replace(whole, broken)
    addMasterKey(keyFile(vault()))
    const keys = await allKeys(vault())
    const { vault: open } = vault().service
    let shreds = 0
    const shred = (): Promise<void> => {
      shreds++
      return open.store.shred()
    }
    await assert.rejects(rewrapKeys({ ...open, store: { ...open.store, shred } }), (error: unknown) => {
      assert.ok(error instanceof KeyProviderError)
      assert.match(error.message, new RegExp(`strongroom/${tenantId}/${whole[0]?.purpose}/1`))
      return true
    })
    assert.equal(shreds, 1, 'nothing is left of how the others were wrapped before')
    assert.equal(await countOlderWraps(vault().service.vault), 0)
    await replace(broken, whole)
    assert.equal((await rewrapKeys(vault().service.vault)).rewrapped, whole.length)
    assert.equal((await rewrapKeys(vault().service.vault)).current, keys.length)
  })

  test('a run that was cut off is finished by the next (C14.4)', async () => {
    await vault().tenant({ owner })
    addMasterKey(keyFile(vault()))
    const total = (await allKeys(vault())).length
    const { vault: open } = vault().service
    let left = 2
    const dying = {
      ...open.store,
      replaceKey: async (...args: Parameters<typeof open.store.replaceKey>) => {
        if (left-- === 0) throw new Error('cut off')
        return open.store.replaceKey(...args)
      },
    }
    await assert.rejects(rewrapKeys({ ...open, store: dying }), /cut off/)
    assert.equal(await countOlderWraps(open), total - 2)
    assert.deepEqual(await rewrapKeys(open), { rewrapped: total - 2, current: 2, isShredded: true })
  })

  test('keys that another run was faster with are left to it (C14.4)', async () => {
    await vault().tenant({ owner })
    addMasterKey(keyFile(vault()))
    const { vault: open } = vault().service
    let isFirst = true
    const overtaken = {
      ...open.store,
      replaceKey: async (...args: Parameters<typeof open.store.replaceKey>) => {
        if (isFirst) {
          isFirst = false
          await rewrapKeys(open)
        }
        return open.store.replaceKey(...args)
      },
    }
    const ofVault = (await open.store.listVaultKeys()).length
    const current = (await allKeys(vault())).length - ofVault
    const done = await rewrapKeys({ ...open, store: overtaken })
    assert.deepEqual(done, { rewrapped: 0, current, isShredded: true })
  })

  test('a service whose key file was rotated on another machine opens tenants that it has not seen (C14.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    await vault().restart()
    const path = keyFile(vault())
    const before = readFileSync(path)
    addMasterKey(path)
    const rotated = readFileSync(path)
    await rewrapKeys({ ...vault().service.vault, keyProvider: fileKeyProvider(path) })
    writeFileSync(path, before)
    assert.equal((await vault().get('/tokens', keys.owner)).status, 503, 'the file has not been copied yet')
    writeFileSync(path, rotated)
    assert.equal((await vault().get('/tokens', keys.owner)).status, 200)
  })
})
