import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { rotateDataKeys } from '../../src/operations/maintenance/rotate-data-keys.ts'
import type { Service } from '../../src/service.ts'
import { engines } from '../rig/engines.ts'
import { secondNode } from '../rig/second-node.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { owner, TestVault } from '../rig/test-vault.ts'
import { untilGrantsHeard } from '../rig/until-grants-heard.ts'

const hour = 3_600_000

for (const engine of engines)
  describe(`upkeep on two nodes (${engine.name})`, () => {
    let vault: TestVault
    let key: string
    let other: Service
    let stopOther: () => Promise<void>
    before(async () => {
      vault = await TestVault.start({ engine })
      key = (await vault.tenant({ owner })).keys.owner
    })
    after(() => vault.stop())
    beforeEach(async () => {
      const node = await secondNode(vault)
      other = node.service
      stopOther = node.stop
    })
    afterEach(() => stopOther())

    /** Creates a token that is due to be purged now. */
    const due = async (): Promise<void> => {
      const expires_at = new Date(vault.now + hour).toISOString()
      await vault.create(key, { type: 'token', data: 'x', expires_at })
      vault.now += hour
    }
    const left = async (): Promise<number> => (await storedRows(vault, 'tokens')).length

    test('only the holder of the lease sweeps; once it stops, the other node does (C17.6)', async () => {
      await due()
      await vault.service.jobTimer.runAll()
      assert.equal(await left(), 0)
      await due()
      vault.now -= hour
      await vault.service.jobTimer.runAll()
      vault.now += hour - pace.upkeepLeaseMs / 2
      await vault.service.jobTimer.runAll()
      vault.now += pace.upkeepLeaseMs / 2
      await other.jobTimer.runAll()
      assert.equal(await left(), 1, 'the other one leaves it to the holder')
      await vault.restart()
      await other.jobTimer.runAll()
      assert.equal(await left(), 0)
    })

    test('a holder that has died is replaced within the purge deadline (C17.6, C11.2, E2.3)', async () => {
      await due()
      vault.now -= 1
      await vault.service.jobTimer.runAll()
      assert.equal(await left(), 1, 'its last sweep came just too early')
      const dueAt = vault.now + 1
      for (vault.now += pace.sweepIntervalMs; (await left()) > 0; vault.now += pace.sweepIntervalMs) {
        assert.ok(vault.now - dueAt < pace.sweepDeadlineMs)
        await other.jobTimer.runAll()
      }
      assert.ok(vault.now - dueAt > pace.upkeepLeaseMs, 'not before the lease was over')
    })

    const sweeps = {
      upkeep: 'purgeTransients',
      expiry: 'listExpiredTokens',
      answers: 'purgeResults',
      removal: 'purgeDeadTenants',
    } as const
    for (const [name, sweep] of Object.entries(sweeps))
      test(`${sweep} waits while another node holds the lease ${name}, and no other sweep does (C17.6, C11.2, §4.11.7, C31.6)`, async t => {
        vault.now += pace.upkeepLeaseMs
        const until = vault.now + pace.upkeepLeaseMs
        const { store } = vault.service.vault
        assert.ok(await store.acquireLease({ name, holder: 'another node', until }, vault.now))
        const calls = Object.values(sweeps).map(call => [call, t.mock.method(store, call).mock] as const)
        const made = async (): Promise<string[]> => {
          await vault.service.jobTimer.runAll()
          return calls.filter(([, mock]) => mock.callCount() > 0).map(([call]) => call)
        }
        const all = Object.values(sweeps)
        assert.deepEqual(
          await made(),
          all.filter(call => call !== sweep),
        )
        vault.now = until + 1
        assert.deepEqual(await made(), all, 'the other one has died')
      })

    test('each node records the key use it has seen, with or without the lease (C29.7)', async () => {
      const made = await vault.tenant({ owner })
      await vault.service.jobTimer.runAll()
      const node = await secondNode(vault)
      await node.send('GET', '/tokens', { key: made.keys.owner })
      await node.service.jobTimer.runAll()
      const [apiKey] = await vault.store.listApiKeys(await vault.tenantNumber(made.tenantId))
      assert.equal(apiKey?.lastUsedAt, vault.now)
      await node.stop()
    })

    test('the report of a tenant is made by one node (docs/decisions/0008)', async () => {
      const made = await vault.tenant({
        owner,
        manager: { type: 'management', permissions: ['report:read'] },
      })
      const token = await vault.create(made.keys.owner, { type: 'token', data: 'x' })
      const name = `index-report ${await vault.tenantNumber(made.tenantId)}`
      const counted = async (): Promise<number> => {
        await vault.service.jobTimer.runAll()
        return (await vault.get('/tenants/self/reports/indexes', made.keys.manager)).body.tokens
      }
      const another = { name, holder: 'another node' }
      const until = vault.now + pace.upkeepLeaseMs
      assert.ok(await vault.store.acquireLease({ ...another, until }, vault.now))
      assert.equal(await counted(), 0, 'the other one makes it')
      vault.now = until + 1
      assert.equal(await counted(), 1, 'the other one has died')
      const held = (await storedRows(vault, 'leases')).map(lease => lease.name)
      assert.ok(held.length > 0 && !held.includes(name), 'given up once the report is made')
      await vault.delete(`/tokens/${token.id}`, made.keys.owner)
    })

    test('two nodes that sweep at once do no harm (C17.6, C11.2, §4.11.7, C31.6)', async () => {
      const cards = Array.from({ length: 300 }, () => ({
        type: 'card',
        data: { number: '4242424242424242', cvc: '123' },
        expires_at: new Date(vault.now + hour).toISOString(),
      }))
      assert.equal((await vault.post('/tokenize', key, cards)).status, 200)
      const kept = await vault.create(key, { type: 'token', data: 'kept' })
      vault.now += hour
      // Without the lease each believes it is the only one.
      const both = [vault.service, other].map(async ({ vault: inside, jobTimer }) => {
        const { acquireLease } = inside.store
        inside.store.acquireLease = async () => true
        await jobTimer.runAll()
        inside.store.acquireLease = acquireLease
      })
      await Promise.all(both)
      await vault.service.jobTimer.runAll()
      assert.equal(await left(), 1)
      assert.deepEqual(await storedRows(vault, 'transients'), [])
      const { pagination, data } = (await vault.get('/tokens', key)).body
      assert.deepEqual([pagination.total_items, data[0].id], [1, kept.id])
      assert.deepEqual(
        vault.log.filter(line => line.includes('job failed') && !line.includes('sweep-transients')),
        [],
      )
    })
  })

for (const engine of engines)
  describe(`tenant keys on two nodes (${engine.name})`, () => {
    let vault: TestVault
    let node: Awaited<ReturnType<typeof secondNode>>
    before(async () => {
      vault = await TestVault.start({ engine })
      node = await secondNode(vault)
    })
    after(async () => {
      await node.stop()
      await vault.stop()
    })

    const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
    const keyVersion = (sealed: Uint8Array): number => Buffer.from(sealed).readUInt32BE(1)

    test('what one node seals with a new data key, the other opens at once, and soon it seals with that key too (C27.2)', async () => {
      const made = await vault.tenant({ owner })
      const key = made.keys.owner
      const tenant = await vault.tenantNumber(made.tenantId)
      await node.send('POST', '/tokens', { key, body: card })
      await vault.create(key, card)
      await untilGrantsHeard({ engine, store: node.service.vault.store }, async () => {
        assert.equal(await rotateDataKeys(vault.service.vault, 3), 1)
        const { id } = await vault.create(key, card)
        assert.deepEqual((await node.send('GET', `/tokens/${id}`, { key })).body.data, card.data)
      })
      const { body } = await node.send('POST', '/tokens', { key, body: card })
      const { rows } = await vault.store.getTokens(tenant, [body.id])
      assert.deepEqual(
        rows.map(({ sealed }) => keyVersion(sealed)),
        [2],
      )
    })

    test('the job timer of any node replaces a data key at half of what is safe, with or without the lease (docs/keys.md)', async () => {
      const made = await vault.tenant({ owner })
      const tenant = await vault.tenantNumber(made.tenantId)
      await vault.service.jobTimer.runAll()
      await node.send('GET', '/tokens', { key: made.keys.owner })
      const { store } = node.service.vault
      const { readCounters } = store
      const dataKeysAfter = async (seals: number): Promise<number> => {
        store.readCounters = async (asked, names) => {
          const counters = await readCounters(asked, names)
          return asked === tenant ? names.map(name => ({ name, value: seals, at: 0 })) : counters
        }
        await node.service.jobTimer.runAll()
        store.readCounters = readCounters
        return (await vault.store.listTenantKeys(tenant)).filter(({ purpose }) => purpose === 'data').length
      }
      assert.equal(await dataKeysAfter(2 ** 31 - 1), 1)
      assert.equal(await dataKeysAfter(2 ** 31), 2)
    })

    test('when two nodes make the next data key at once, one succeeds (C14.4)', async () => {
      const made = await vault.tenant({ owner })
      const key = made.keys.owner
      await vault.create(key, card)
      await node.send('POST', '/tokens', { key, body: card })
      const nodes = [vault.service.vault, node.service.vault]
      await Promise.all(nodes.map(one => rotateDataKeys(one, 3)))
      const versions = await vault.store.listTenantKeys(await vault.tenantNumber(made.tenantId))
      assert.equal(versions.filter(({ purpose }) => purpose === 'data').length, 2)
      const { id } = await vault.create(key, card)
      assert.deepEqual((await node.send('GET', `/tokens/${id}`, { key })).body.data, card.data)
    })

    test('the keys of a tenant deleted on one node leave the memory of the other (C31.7)', async () => {
      const { keys, tenantId } = await vault.tenant({
        owner,
        manager: { type: 'management', permissions: ['tenant:delete'] },
      })
      const isLoaded = (): boolean =>
        node.service.vault.keyring.loaded().some(loaded => loaded.tenantId === tenantId)
      await node.send('POST', '/tokens', { key: keys.owner, body: card })
      assert.ok(isLoaded())
      assert.equal((await vault.delete('/tenants/self', keys.manager)).status, 204)
      await node.service.jobTimer.runAll()
      assert.ok(!isLoaded())
    })

    test('unlocked keys stay unlocked while the key provider is down and grants change (C2.23)', async () => {
      const made = await vault.tenant({ owner })
      const key = made.keys.owner
      const { id } = await vault.create(key, card)
      const { keyProvider } = vault.service.vault
      const { unwrap } = keyProvider
      Object.assign(keyProvider, { unwrap: () => Promise.reject(new Error('down')) })
      try {
        const { keys } = await vault.tenant({
          manager: { type: 'management', permissions: ['tenant:update'] },
        })
        const renamed = await vault.send('PUT', '/tenants/self', { key: keys.manager, body: { name: 'x' } })
        assert.equal(renamed.status >= 500, true, 'a tenant that was never unlocked cannot be')
        const { keyring } = vault.service.vault
        const tenant = await vault.tenantNumber(made.tenantId)
        const row = { purpose: 'index', version: 9, wrapped: new Uint8Array(8) }
        const other = await vault.tenantNumber((await vault.tenant({ owner })).tenantId)
        const set = { tenant: other, effects: [], counters: [], log: null }
        await vault.store.commit({ ...set, guarded: [{ kind: 'insertTenantKey', row }] })
        assert.equal((await keyring.of(tenant, made.tenantId)).tenantId, made.tenantId)
        assert.deepEqual((await vault.get(`/tokens/${id}`, key)).body.data, card.data)
      } finally {
        Object.assign(keyProvider, { unwrap })
      }
    })
  })
