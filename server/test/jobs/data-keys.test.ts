import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rotateDataKeys } from '../../src/operations/maintenance/rotate-data-keys.ts'
import { engines } from '../rig/engines.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const keyVersion = (sealed: Uint8Array): number => Buffer.from(sealed).readUInt32BE(1)

for (const engine of engines)
  test(`a new data key seals new rows, old rows open with theirs, and fingerprints stay the same (${engine.name}) (C14.4)`, async () => {
    const vault = await TestVault.start({ engine })
    try {
      const busy = await vault.tenant({ owner })
      const quiet = await vault.tenant({ owner })
      const key = busy.keys.owner
      const tenant = await vault.tenantNumber(busy.tenantId)
      /** The versions of the keys that sealed the token, and its transient field if it has one. */
      const versions = async (id: string, of = tenant): Promise<number[]> => {
        const { rows, transients } = await vault.store.getTokens(of, [id])
        return [...rows, ...transients].map(({ sealed }) => keyVersion(sealed))
      }
      const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
      const data = async (id: string): Promise<unknown> => (await vault.get(`/tokens/${id}`, key)).body.data

      const old = await vault.create(key, card)
      const still = await vault.create(quiet.keys.owner, card)
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 0, 'two seals: the token and its cvc')
      const second = await vault.create(key, card)
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 1, 'one tenant has used its key enough')
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 0, 'the new key is unused')
      const name = { 'svc-idempotency-key': 'kept' }
      await vault.send('POST', '/tokens', { key: quiet.keys.owner, body: card, headers: name })
      assert.equal(await rotateDataKeys(vault.service.vault, 5), 1, 'a kept answer is sealed too')

      const fresh = await vault.create(key, card)
      assert.deepEqual(await versions(old.id), [1, 1])
      assert.deepEqual(await versions(fresh.id), [2, 2])
      assert.equal(fresh.fingerprint, old.fingerprint)
      for (const { id } of [old, second, fresh]) assert.deepEqual(await data(id), card.data)

      await vault.patch(`/tokens/${old.id}`, key, { metadata: { changed: 'yes' } })
      assert.deepEqual(await versions(old.id), [2, 1], 'what changed is sealed anew, what did not stays')
      assert.deepEqual(await data(old.id), card.data)

      await vault.restart()
      for (const { id } of [old, second, fresh]) assert.deepEqual(await data(id), card.data)
      const later = await vault.create(key, card)
      assert.deepEqual(await versions(later.id), [2, 2])
      assert.deepEqual(await versions(still.id, await vault.tenantNumber(quiet.tenantId)), [1, 1])
      assert.equal((await vault.get('/tokens', key)).body.pagination.total_items, 4)
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 1, 'and again when its time has come')
      assert.deepEqual(await versions((await vault.create(key, card)).id), [3, 3])
      await vault.patch(`/tokens/${old.id}`, key, { metadata: { changed: 'again' } })
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 1, 'a changed token is sealed once more')
      for (const { id } of [old, second, fresh, later]) assert.deepEqual(await data(id), card.data)
    } finally {
      await vault.stop()
    }
  })
