import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Store } from '../../../src/store/port.ts'
import type { ResourceKind } from '../../../src/store/rows.ts'
import type { Effect, Outcome } from '../../../src/store/write-set.ts'
import { madeTenantLog } from '../../rig/log-parts.ts'
import {
  assertRows,
  bytes,
  insertion,
  matchOf,
  type OpenStore,
  StoreRig,
  tokenRow,
  transientRow,
  writeSet,
} from './rig.ts'

const revised = { committed: false, conflict: 'tenantRevised' }

/** Grants: every change of them depends on the tenant's revision, and what is deleted is gone. */
export const grantContract = (open: OpenStore): void => {
  describe('changes to grants', () => {
    const rig = new StoreRig(open)
    const change = (
      tenant: number,
      ifRevision: number,
      effects: readonly Effect[],
      store: Store = rig.store,
    ): Promise<Outcome> =>
      store.commit(writeSet(tenant, { guarded: [{ kind: 'reviseTenant', ifRevision }], effects }))
    const revision = async (tenant: number) => (await rig.store.getTenant(tenant))?.revision

    test('a change is accepted only on the newest revision, which it raises by one (C27.2)', async () => {
      const tenant = await rig.newTenant()
      const put = (sealed: string): Effect => ({ kind: 'putTenant', sealed: bytes(sealed) })
      assert.equal(await revision(tenant), 1)
      assert.deepEqual(await change(tenant, 1, [put('second')]), { committed: true })
      assert.equal(await revision(tenant), 2)
      assert.deepEqual(await change(tenant, 1, [put('too late')]), revised)
      assert.deepEqual(await change(tenant, 3, [put('too early')]), revised)
      assertRows((await rig.store.getTenant(tenant))?.sealed, bytes('second'))
      assert.equal(await revision(tenant), 2)
    })

    test('of many changes to one revision over two connections exactly one is accepted (C27.2)', async () => {
      const tenant = await rig.newTenant()
      const stores = [rig.store, await rig.again()]
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => change(tenant, 1, [], stores[i % 2])),
      )
      assert.equal(outcomes.filter(outcome => outcome.committed).length, 1)
      assert.equal(await revision(tenant), 2)
    })

    test('applications and keys are stored, listed, replaced and deleted (C29.1)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      const key = (application: string, id: string, expiresAt: number | null = null) => ({
        id,
        applicationId: application,
        hash: bytes(`hash of ${id}`),
        expiresAt,
        sealed: bytes(`key ${id}`),
      })
      const listed = async () => ({
        applications: (await rig.store.listApplications(tenant)).map(({ id }) => id).sort(),
        keys: (await rig.store.listApiKeys(tenant)).map(({ id }) => id).sort(),
      })
      await change(tenant, 1, [
        { kind: 'putApplication', id: 'app one', sealed: bytes('one') },
        { kind: 'putApplication', id: 'app two', sealed: bytes('two') },
        { kind: 'putApiKey', row: key('app one', 'k1') },
        { kind: 'putApiKey', row: key('app one', 'k2', 50) },
        { kind: 'putApiKey', row: key('app two', 'k3') },
      ])
      assert.deepEqual(await listed(), { applications: ['app one', 'app two'], keys: ['k1', 'k2', 'k3'] })
      assertRows(await rig.store.findApiKey(bytes('hash of k2'), 49), {
        tenant,
        ...key('app one', 'k2', 50),
      })
      assert.deepEqual(await rig.store.listApplications(other), [])
      assert.deepEqual(await rig.store.listApiKeys(other), [])

      await change(tenant, 2, [{ kind: 'putApplication', id: 'app one', sealed: bytes('one anew') }])
      assertRows(await rig.store.getApplication(tenant, 'app one'), {
        tenant,
        id: 'app one',
        sealed: bytes('one anew'),
      })
      await change(tenant, 3, [
        { kind: 'deleteApiKey', applicationId: 'app two', id: 'k1' },
        { kind: 'deleteApiKey', applicationId: 'app one', id: 'k1' },
      ])
      assert.deepEqual((await listed()).keys, ['k2', 'k3'])
      assert.equal(await rig.store.findApiKey(bytes('hash of k1'), 0), undefined)
      await change(tenant, 4, [{ kind: 'deleteApplication', id: 'app one' }])
      assert.deepEqual(await listed(), { applications: ['app two'], keys: ['k3'] })
      assert.equal(await rig.store.findApiKey(bytes('hash of k2'), 0), undefined)
      assert.ok(await rig.store.findApiKey(bytes('hash of k3'), 0))
    })

    test('proxies and webhooks are stored, listed, found by hash, replaced and deleted (U18)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      const row = (kind: ResourceKind, id: string, hash: string | null, sealed = `sealed ${id}`) => ({
        kind,
        id,
        hash: hash === null ? null : bytes(hash),
        sealed: bytes(sealed),
      })
      const put = (...of: Parameters<typeof row>): Effect => ({ kind: 'putResource', row: row(...of) })
      const listed = async (of = tenant) =>
        (await rig.store.listResources(of)).map(({ kind, id }) => `${kind} ${id}`).sort()
      await change(tenant, 1, [
        put('proxy', 'one', 'hash one'),
        put('proxy', 'two', 'hash two'),
        put('webhook', 'one', null),
        put('webhook', 'three', null),
      ])
      await change(other, 1, [put('proxy', 'one', 'hash of another tenant')])
      assert.deepEqual(await listed(), ['proxy one', 'proxy two', 'webhook one', 'webhook three'])
      assertRows(await rig.store.findResource('proxy', bytes('hash two')), {
        tenant,
        ...row('proxy', 'two', 'hash two'),
      })
      assert.equal(await rig.store.findResource('webhook', bytes('hash two')), undefined)
      assert.equal(await rig.store.findResource('proxy', bytes('hash')), undefined)
      assert.deepEqual(await rig.store.listResourceOwners('webhook'), [{ tenant, revision: 2 }])
      assert.deepEqual(await rig.store.listResourceOwners('proxy'), [
        { tenant, revision: 2 },
        { tenant: other, revision: 2 },
      ])

      await change(tenant, 2, [
        put('proxy', 'two', 'hash anew', 'sealed anew'),
        put('webhook', 'one', null, 'w'),
      ])
      assert.equal(await rig.store.findResource('proxy', bytes('hash two')), undefined)
      assertRows((await rig.store.findResource('proxy', bytes('hash anew')))?.sealed, bytes('sealed anew'))
      assertRows(
        (await rig.store.listResources(tenant)).find(({ kind, id }) => kind === 'webhook' && id === 'one'),
        { tenant, ...row('webhook', 'one', null, 'w') },
      )
      assert.deepEqual(await change(tenant, 2, [{ kind: 'deleteResource', of: 'proxy', id: 'one' }]), revised)
      await change(tenant, 3, [
        { kind: 'deleteResource', of: 'proxy', id: 'one' },
        { kind: 'deleteResource', of: 'proxy', id: 'three' },
      ])
      assert.deepEqual(await listed(), ['proxy two', 'webhook one', 'webhook three'])
      assert.equal(await rig.store.findResource('proxy', bytes('hash one')), undefined)
      assert.deepEqual(await listed(other), ['proxy one'])
    })

    test('the last use of a key is remembered; the latest time wins, and unknown keys do no harm (C29.7)', async () => {
      const tenant = await rig.newTenant()
      const hash = bytes('hash in use')
      await change(tenant, 1, [
        {
          kind: 'putApiKey',
          row: { id: 'k', applicationId: 'a', hash, expiresAt: null, sealed: bytes('k') },
        },
      ])
      const lastUse = async () => (await rig.store.listApiKeys(tenant))[0]?.lastUsedAt
      assert.equal(await lastUse(), null)
      await rig.store.noteKeyUse([
        { hash, at: 30 },
        { hash: bytes('unknown'), at: 99 },
      ])
      assert.equal(await lastUse(), 30)
      await rig.store.noteKeyUse([{ hash, at: 20 }])
      assert.equal(await lastUse(), 30)
      await rig.store.noteKeyUse([{ hash, at: 40 }])
      await rig.store.noteKeyUse([])
      assert.equal(await lastUse(), 40)
    })

    test('the epoch grows with each change, at once on the same connection and within a second on others (C27.2)', async () => {
      const tenant = await rig.newTenant()
      const other = await rig.again()
      const [here, there] = [rig.store.grantsEpoch(), other.grantsEpoch()]
      await change(tenant, 1, [])
      await nextIteration()
      assert.ok(rig.store.grantsEpoch() > here)
      const deadline = performance.now() + 1_000
      while (other.grantsEpoch() === there && performance.now() < deadline) await nextIteration()
      assert.ok(other.grantsEpoch() > there)

      // A connection opened since: the others may hear of the same change once more.
      const third = await rig.again()
      const before = third.grantsEpoch()
      assert.deepEqual(await change(tenant, 1, []), revised)
      await rig.write(insertion(tenant, [{ row: tokenRow(tenant, 'a token'), terms: [] }]))
      await nextIteration()
      assert.equal(third.grantsEpoch(), before, 'what changed no grant leaves it alone')
    })
  })

  describe('a deleted tenant', () => {
    const rig = new StoreRig(open)
    const term = bytes('term')
    const hash = bytes('result')

    const filled = async (name: string): Promise<number> => {
      const tenant = await rig.store.createTenant(
        {
          id: `tenant ${name}`,
          sealed: bytes('tenant'),
          keys: [{ purpose: 'data', version: 1, wrapped: bytes('wrapped') }],
          applications: [{ id: 'app', sealed: bytes('app') }],
          apiKeys: [
            {
              id: 'key',
              applicationId: 'app',
              hash: bytes(`hash ${name}`),
              expiresAt: null,
              sealed: bytes('key'),
            },
          ],
        },
        madeTenantLog(),
      )
      const ids = ['a', 'b', 'c', 'd', 'e']
      await rig.write({
        ...insertion(
          tenant,
          ids.map(id => ({ row: tokenRow(tenant, id, { expiresAt: 9_000 }), terms: [term] })),
        ),
        counters: [{ name: 'n', by: 5 }],
      })
      await rig.write(
        writeSet(tenant, {
          guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
          effects: [
            {
              kind: 'putResource',
              row: { kind: 'proxy', id: 'proxy', hash: bytes(`proxy ${name}`), sealed: bytes('proxy') },
            },
          ],
        }),
      )
      await rig.write(
        writeSet(tenant, {
          guarded: [
            { kind: 'claimMatch', match: matchOf(term), tokenId: 'a', insteadOf: null },
            { kind: 'keepResult', row: { hash, expiresAt: 100, sealed: bytes('answer') }, now: 0 },
          ],
          effects: [
            { kind: 'putTransient', row: transientRow(tenant, 'a') },
            { kind: 'putReport', name: 'indexes', sealed: bytes('report') },
          ],
        }),
      )
      return tenant
    }

    /** Everything of the tenant that the port can show. */
    const remains = async (tenant: number, name: string) => ({
      tokens: (await rig.store.getTokens(tenant, ['a', 'b', 'c', 'd', 'e'])).rows.length,
      transients: (await rig.store.getTokens(tenant, ['a'])).transients.length,
      terms: (await rig.store.estimateTerms(tenant, [term], 100))[0],
      match: await rig.store.findMatchHolder(tenant, matchOf(term)),
      result: await rig.store.getResult(tenant, hash, 0),
      report: await rig.store.getReport(tenant, 'indexes'),
      counters: (await rig.store.readCounters(tenant, ['n'])).length,
      keys: (await rig.store.listTenantKeys(tenant)).length,
      applications: (await rig.store.listApplications(tenant)).length,
      resources: (await rig.store.listResources(tenant)).length,
      proxy: await rig.store.findResource('proxy', bytes(`proxy ${name}`)),
      apiKey: await rig.store.findApiKey(bytes(`hash ${name}`), 0),
    })

    test('is gone at once with its keys, takes no writes, and has its rows purged in batches (C31.6, C31.7, C31.8, C27.3)', async () => {
      const [gone, stays] = [await filled('gone'), await filled('stays')]
      const kept = await remains(stays, 'stays')
      assert.equal(await rig.store.purgeDeadTenants(100), 0)
      await rig.write(
        writeSet(gone, {
          guarded: [{ kind: 'reviseTenant', ifRevision: 2 }],
          effects: [{ kind: 'deleteTenant' }],
        }),
      )
      assert.equal(await rig.store.getTenant(gone), undefined)
      const { keys, applications, resources, apiKey, proxy } = await remains(gone, 'gone')
      assert.deepEqual(
        { keys, applications, resources, apiKey, proxy },
        { keys: 0, applications: 0, resources: 0, apiKey: undefined, proxy: undefined },
      )
      assert.deepEqual(
        await rig.store.commit(insertion(gone, [{ row: tokenRow(gone, 'late'), terms: [] }])),
        { committed: false, conflict: 'tenantGone' },
      )

      let batches = 0
      while ((await rig.store.purgeDeadTenants(2)) > 0) {
        batches++
        assert.ok(batches < 50, 'purging comes to an end')
      }
      assert.ok(batches > 2, 'five tokens do not go in one batch of two')
      assert.deepEqual(await remains(gone, 'gone'), {
        tokens: 0,
        transients: 0,
        terms: 0,
        match: undefined,
        result: undefined,
        report: undefined,
        counters: 0,
        keys: 0,
        applications: 0,
        resources: 0,
        proxy: undefined,
        apiKey: undefined,
      })
      assertRows(await remains(stays, 'stays'), kept)
      assert.deepEqual(
        (await rig.store.listTenants()).map(({ tenant }) => tenant),
        [stays],
      )
    })
  })
}
