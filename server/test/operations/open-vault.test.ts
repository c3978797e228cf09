import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { evidenceKeys } from '../../src/crypto/evidence-keys.ts'
import { verifierKeyText } from '../../src/crypto/signed-note.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { unwrapVaultKeys } from '../../src/keys/unwrap-keys.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
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

  test('the key that signs checkpoints is stored as the key provider wraps it (L4.3)', async () => {
    const { keyProvider, store, vaultKeys, evidence } = vault().service.vault
    const stored = await store.listVaultKeys()
    const wrapped = stored.find(({ purpose }) => purpose === 'checkpoints')?.wrapped ?? assert.fail()
    const seed = vaultKeys.checkpoints.export()
    assert.ok(!Buffer.from(wrapped).includes(seed))
    assert.equal(verifierKeyText(evidenceKeys(vaultKeys.checkpoints).signer), evidence.verifierKey)
    assert.deepEqual((await unwrapVaultKeys(keyProvider, stored)).checkpoints.export(), seed)
    const other = temporaryFolder()
    createMasterKeyFile(join(other.path, 'master.key'))
    const stranger = fileKeyProvider(join(other.path, 'master.key'))
    await assert.rejects(unwrapVaultKeys(stranger, stored), KeyProviderError)
    other.remove()
  })

  test('a vault from before there was a log gets its keys at its next start, and no second time (L3.4)', async () => {
    const { engine, folder } = vault()
    const { tenantId, keys } = await vault().tenant({ owner })
    const { vaultKeys } = vault().service.vault
    const forget = () =>
      engine.reach(folder.path, "DELETE FROM vault_keys WHERE purpose IN ('log', 'checkpoints')")
    await vault().close()
    await forget()
    for (const table of ['log', 'log_heads', 'log_trees', 'log_checkpoints', 'log_leaves'])
      await engine.reach(folder.path, `DELETE FROM ${table}`)
    await vault().openOn(engine)
    await vault().create(keys.owner, { type: 'token', data: 'x' })
    const inner = vault().service.vault
    assert.deepEqual(
      (await recordsOfTenant(inner, tenantId)).map(({ operation }) => operation),
      ['createToken'],
    )
    assert.deepEqual(inner.vaultKeys.grants, vaultKeys.grants)
    assert.notDeepEqual(inner.vaultKeys.log.export(), vaultKeys.log.export())
    await inner.evidence.catchUp()
    const kept = await inner.store.listVaultKeys()
    await forget()
    await assert.rejects(openVault(inner), /keys of the log are gone from storage: restore a backup/)
    await inner.store.ensureVaultKeys(kept)
  })
})
