import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

onEveryEngine('the keys of the vault', vault => {
  test('vault keys are never replaced: storage with tenants that has lost them gets no new ones (docs/keys.md)', async () => {
    await vault().tenant({ owner })
    const { engine, folder, store } = vault()
    const kept = await store.listVaultKeys()
    await engine.reach(folder.path, 'DELETE FROM vault_keys')
    await assert.rejects(openVault(vault().service.vault), (error: Error) => {
      assert.ok(error instanceof KeyProviderError)
      assert.match(error.message, /^the keys of the vault are gone from storage, .*: restore a backup$/)
      return true
    })
    assert.deepEqual(await store.listVaultKeys(), [])
    await store.ensureVaultKeys(kept)
  })

  test('a vault that another process makes at that moment is opened with the keys of that process (docs/keys.md)', async () => {
    await vault().tenant({ owner })
    const { keyProvider, clock, store } = vault().service.vault
    let looks = 0
    const early = {
      ...store,
      listVaultKeys: async () => (looks++ === 0 ? [] : store.listVaultKeys()),
    }
    const { vaultKeys } = await openVault({ store: early, keyProvider, clock })
    assert.deepEqual(vaultKeys, vault().service.vault.vaultKeys)
    const earlier = { ...early, listTenants: async () => [] }
    looks = 0
    const opened = await openVault({ store: earlier, keyProvider, clock })
    assert.deepEqual(opened.vaultKeys, vaultKeys)
  })
})
