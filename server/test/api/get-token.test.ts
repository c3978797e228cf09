import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { engines } from '../rig/engines.ts'
import { devApplications, TestVault } from '../rig/test-vault.ts'

for (const engine of engines)
  describe(`get a token (${engine.name})`, () => {
    let vault: TestVault
    let keys: Record<'general' | 'private', string>
    before(async () => {
      vault = await TestVault.start({ engine })
      keys = (await vault.tenant(devApplications)).keys
    })
    after(() => vault.stop())

    test('§4.4 the token comes back with its data under reveal', async () => {
      const data = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
      const created = await vault.post('/tokens', keys.general, { type: 'card', data })
      assert.equal(created.status, 201)
      const read = await vault.get(`/tokens/${created.body.id}`, keys.private)
      assert.equal(read.status, 200)
      assert.deepEqual(read.body.data, data)
    })
  })
