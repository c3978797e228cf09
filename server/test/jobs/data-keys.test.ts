import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rotateDataKeys } from '../../src/operations/rotate-data-keys.ts'
import { engines } from '../rig/engines.ts'
import { storedRows } from '../rig/look-inside.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const keyVersion = (sealed: unknown): number => Buffer.from(sealed as Uint8Array).readUInt32BE(1)

for (const engine of engines)
  test(`C14.4 a new data key serves new rows, old rows open with theirs, and fingerprints stay (${engine.name})`, async () => {
    const vault = await TestVault.start({ engine })
    try {
      const busy = await vault.tenant({ owner })
      const quiet = await vault.tenant({ owner })
      const key = busy.keys.owner
      const versions = (table: string, id: string): number[] =>
        storedRows(vault, table)
          .filter(row => row.token_id === id)
          .map(row => keyVersion(row.sealed))
      const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
      const data = async (id: string): Promise<unknown> => (await vault.get(`/tokens/${id}`, key)).body.data

      const old = await vault.create(key, card)
      const still = await vault.create(quiet.keys.owner, card)
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 0, 'two seals: the token and its cvc')
      const second = await vault.create(key, card)
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 1, 'one tenant has used its key enough')
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 0, 'the new key is unused')

      const fresh = await vault.create(key, card)
      assert.deepEqual(versions('tokens', old.id), [1])
      assert.deepEqual(versions('tokens', fresh.id), [2])
      assert.deepEqual(versions('transients', fresh.id), [2])
      assert.equal(fresh.fingerprint, old.fingerprint)
      for (const { id } of [old, second, fresh]) assert.deepEqual(await data(id), card.data)

      await vault.patch(`/tokens/${old.id}`, key, { metadata: { changed: 'yes' } })
      assert.deepEqual(versions('tokens', old.id), [2], 'a changed row is sealed anew')
      assert.deepEqual(versions('transients', old.id), [1], 'what did not change stays as it is')
      assert.deepEqual(await data(old.id), card.data)

      await vault.restart()
      for (const { id } of [old, second, fresh]) assert.deepEqual(await data(id), card.data)
      const later = await vault.create(key, card)
      assert.deepEqual(versions('tokens', later.id), [2])
      assert.deepEqual(versions('tokens', still.id), [1])
      assert.equal((await vault.get('/tokens', key)).body.pagination.total_items, 4)
      assert.equal(await rotateDataKeys(vault.service.vault, 3), 1, 'and again when its time has come')
      assert.deepEqual(versions('tokens', (await vault.create(key, card)).id), [3])
      for (const { id } of [old, second, fresh, later]) assert.deepEqual(await data(id), card.data)
    } finally {
      await vault.stop()
    }
  })
