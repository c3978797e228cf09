import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileKeyProvider } from '../../src/crypto/file-key-provider.ts'
import { tenantKeyring } from '../../src/operations/vault/tenant-keyring.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

onEveryEngine('the keys of a tenant', vault => {
  test('C2.23 are there again when storage is, whatever was asked for while it was away', async () => {
    const { tenantId } = await vault().tenant({ owner })
    const tenantNumber = await vault().tenantNumber(tenantId)
    let isAway = false
    // As while storage is away: nothing cached may be relied on.
    let epoch = 0
    const keyring = tenantKeyring(
      {
        ...vault().store,
        grantsEpoch: () => ++epoch,
        tenantKeys: async tenant => {
          if (isAway) throw new StoreUnavailableError('away')
          return vault().store.tenantKeys(tenant)
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
})
