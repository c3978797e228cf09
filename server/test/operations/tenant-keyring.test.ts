import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { tenantKeyring } from '../../src/operations/vault/tenant-keyring.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

onEveryEngine('the keys of a tenant', vault => {
  test('are available again as soon as storage is, whatever was asked for while it was away (C2.23)', async () => {
    const { tenantId } = await vault().tenant({ owner })
    const tenantNumber = await vault().tenantNumber(tenantId)
    let isAway = false
    // As while storage is away: nothing cached may be relied on.
    let epoch = 0
    const keyring = tenantKeyring(
      {
        ...vault().store,
        grantsEpoch: () => ++epoch,
        listTenantKeys: async tenant => {
          if (isAway) throw new StoreUnavailableError('away')
          return vault().store.listTenantKeys(tenant)
        },
      },
      fileKeyProvider(join(vault().folder.path, 'master.key')),
    )
    const ask = () => keyring.of(tenantNumber, tenantId)
    const before = await ask()
    isAway = true
    for (const answer of await Promise.allSettled([ask(), ask(), ask()]))
      assert.equal(answer.status, 'rejected')
    isAway = false
    assert.equal(await ask(), before)
  })

  test('are available to the next request once the provider is back, even if no grant has changed (C2.23)', async () => {
    const { tenantId } = await vault().tenant({ owner })
    const tenantNumber = await vault().tenantNumber(tenantId)
    const provider = fileKeyProvider(join(vault().folder.path, 'master.key'))
    let isAway = true
    const keyring = tenantKeyring(
      { ...vault().store, grantsEpoch: () => 1 },
      {
        ...provider,
        unwrap: async (wrapped, context) => {
          if (isAway) throw new KeyProviderError('away')
          return provider.unwrap(wrapped, context)
        },
      },
    )
    await assert.rejects(keyring.of(tenantNumber, tenantId), KeyProviderError)
    isAway = false
    assert.equal((await keyring.of(tenantNumber, tenantId)).tenantId, tenantId)
  })
})
