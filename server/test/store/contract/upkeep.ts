import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KeyRow, NewTenant } from '../../../src/store/rows.ts'
import { madeTenantLog } from '../../rig/log-parts.ts'
import {
  assertRows,
  bytes,
  insertion,
  isUnavailable,
  type OpenStore,
  pendingAfter,
  StoreRig,
  tokenRow,
  transientRow,
  writeSet,
} from './rig.ts'

/** What requests about tokens do not call: purging, tenants, keys. */
export const upkeepContract = (open: OpenStore): void => {
  describe('purging', () => {
    const rig = new StoreRig(open)

    test('expired tokens of all tenants come in pages, those that expired longest ago first (C17.6)', async () => {
      const [one, other] = [await rig.newTenant(), await rig.newTenant()]
      const at = (tenant: number, id: string, expiresAt: number | null) => ({
        row: tokenRow(tenant, id, { expiresAt }),
        terms: [],
      })
      await rig.write(insertion(one, [at(one, 'c', 30), at(one, 'a', 10), at(one, 'never', null)]))
      await rig.write(insertion(other, [at(other, 'b', 20), at(other, 'd', 40), at(other, 'e', 50)]))
      const page = async (now: number, offset: number, limit: number) =>
        (await rig.store.listExpiredTokens(now, { offset, limit })).map(({ id }) => id).join('')
      assert.equal(await page(9, 0, 10), '')
      assert.equal(await page(40, 0, 10), 'abcd')
      assert.equal(await page(49, 0, 10), 'abcd')
      assert.equal(await page(50, 0, 10), 'abcde')
      assert.equal(await page(50, 0, 2), 'ab')
      assert.equal(await page(50, 2, 2), 'cd')
      assert.equal(await page(50, 4, 2), 'e')
      assert.equal(await page(50, 5, 2), '')
      assertRows(await rig.store.listExpiredTokens(10, { offset: 0, limit: 1 }), [
        tokenRow(one, 'a', { expiresAt: 10 }),
      ])
      await rig.write(
        writeSet(other, {
          guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
          effects: [{ kind: 'deleteTenant' }],
        }),
      )
      assert.equal(await page(50, 0, 10), 'ac', 'those of a deleted tenant go with the rest of it')
    })

    test('the rows of a deleted tenant are removed a few at a time (C31.6)', async () => {
      while ((await rig.store.purgeDeadTenants(100)) > 0);
      const tenant = await rig.newTenant()
      const rows = Array.from({ length: 25 }, (_, n) => ({ row: tokenRow(tenant, `${n}`), terms: [] }))
      await rig.write(insertion(tenant, rows))
      await rig.write(
        writeSet(tenant, {
          guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
          effects: [{ kind: 'deleteTenant' }],
        }),
      )
      for (const removed of [10, 10, 5]) assert.equal(await rig.store.purgeDeadTenants(10), removed)
    })

    test('transient fields that are due are purged in batches, the oldest first, and nothing else is (C11.2)', async () => {
      const [one, other] = [await rig.newTenant(), await rig.newTenant()]
      for (const [tenant, base] of [
        [one, 0],
        [other, 5],
      ] as const)
        await rig.write(
          writeSet(tenant, {
            guarded: [{ kind: 'insertToken', row: tokenRow(tenant, 'card', { transientUntil: 90 }) }],
            effects: [10, 20, 30, 90].map((at, i) => ({
              kind: 'putTransient' as const,
              row: transientRow(tenant, 'card', { field: `f${i}`, expiresAt: at + base }),
            })),
          }),
        )
      const left = async () =>
        [
          ...(await rig.store.getTokens(one, ['card'])).transients,
          ...(await rig.store.getTokens(other, ['card'])).transients,
        ]
          .map(({ expiresAt }) => expiresAt)
          .sort((a, b) => a - b)
      assert.equal(await rig.store.purgeTransients(pendingAfter(9), 100), 0)
      assert.equal(await rig.store.purgeTransients(pendingAfter(10), 100), 1)
      assert.equal(await rig.store.purgeTransients(pendingAfter(35), 0), 0)
      assert.deepEqual(await left(), [15, 20, 25, 30, 35, 90, 95])
      assert.equal(await rig.store.purgeTransients(pendingAfter(35), 3), 3)
      assert.deepEqual(await left(), [30, 35, 90, 95])
      assert.equal(await rig.store.purgeTransients(pendingAfter(35), 3), 2)
      assert.equal(await rig.store.purgeTransients(pendingAfter(35), 3), 0)
      assert.deepEqual(await left(), [90, 95])
      await rig.store.shred()
      assertRows(await rig.store.getToken(one, 'card'), tokenRow(one, 'card', { transientUntil: 90 }))
    })

    test('transient fields whose deadline lies too far ahead are purged too, after those that are due (C11.2)', async () => {
      await rig.store.purgeTransients(pendingAfter(999), 100)
      const tenant = await rig.newTenant()
      const deadlines = [10, 20, 30, 40, 50]
      await rig.write(
        writeSet(tenant, {
          guarded: [{ kind: 'insertToken', row: tokenRow(tenant, 'card', { transientUntil: 50 }) }],
          effects: deadlines.map(expiresAt => ({
            kind: 'putTransient' as const,
            row: transientRow(tenant, 'card', { field: `f${expiresAt}`, expiresAt }),
          })),
        }),
      )
      const left = async () =>
        (await rig.store.getTokens(tenant, ['card'])).transients
          .map(({ expiresAt }) => expiresAt)
          .sort((a, b) => a - b)
      const pending = { after: 10, upTo: 30 }
      assert.equal(await rig.store.purgeTransients(pending, 0), 0)
      assert.equal(await rig.store.purgeTransients(pending, 1), 1)
      assert.deepEqual(await left(), [20, 30, 40, 50])
      assert.equal(await rig.store.purgeTransients(pending, 1), 1)
      assert.deepEqual(await left(), [20, 30, 50])
      assert.equal(await rig.store.purgeTransients({ after: 20, upTo: 49 }, 10), 2)
      assert.deepEqual(await left(), [30])
      assert.equal(await rig.store.purgeTransients({ after: 29, upTo: 30 }, 10), 0)
    })
  })

  describe('tenants and keys', () => {
    const rig = new StoreRig(open)

    const newTenant = (name: string): NewTenant => ({
      id: `tenant ${name}`,
      sealed: bytes(`sealed ${name}`),
      keys: [
        { purpose: 'data', version: 1, wrapped: bytes(`data key of ${name}`) },
        { purpose: 'index', version: 1, wrapped: bytes(`index key of ${name}`) },
      ],
      applications: [{ id: `application ${name}`, sealed: bytes(`application of ${name}`) }],
      apiKeys: [
        {
          id: `key ${name}`,
          applicationId: `application ${name}`,
          hash: bytes(`hash ${name}`),
          expiresAt: name === 'b' ? 9_000 : null,
          sealed: bytes(`key of ${name}`),
        },
      ],
    })

    test('a tenant is stored with its keys, applications and API keys, under a number of its own (§1.2, C31.1)', async () => {
      const [a, b] = [newTenant('a'), newTenant('b')]
      const numbers = [
        await rig.store.createTenant(a, madeTenantLog()),
        await rig.store.createTenant(b, madeTenantLog()),
      ]
      assert.equal(new Set(numbers).size, 2)
      for (const [i, made] of [a, b].entries()) {
        const tenant = numbers[i] ?? Number.NaN
        const { store } = rig
        assertRows(await store.getTenant(tenant), { tenant, id: made.id, revision: 1, sealed: made.sealed })
        assertRows(await store.listTenantKeys(tenant), made.keys)
        for (const application of made.applications)
          assertRows(await store.getApplication(tenant, application.id), { tenant, ...application })
        for (const key of made.apiKeys) {
          assertRows(await store.findApiKey(key.hash, 8_999), { tenant, ...key })
          if (key.expiresAt !== null) assert.equal(await store.findApiKey(key.hash, 9_000), undefined)
        }
        assert.equal(
          await store.getApplication(tenant, made === a ? 'application b' : 'application a'),
          undefined,
        )
      }
      const expiring = [a, b].flatMap(({ apiKeys }) => apiKeys).filter(({ expiresAt }) => expiresAt !== null)
      assert.ok(expiring.every(({ expiresAt }) => expiresAt === 9_000))
      const soon = expiring.length
      assert.ok(soon > 0)
      assertRows(await rig.store.keyExpiries(0, 9_000), { next: 9_000, soon })
      assertRows(await rig.store.keyExpiries(8_999, 8_999), { next: 9_000, soon: 0 })
      assertRows(await rig.store.keyExpiries(9_000, 9_999), { next: undefined, soon: 0 })
      assertRows(
        (await rig.store.listTenants()).map(({ id }) => id),
        [a.id, b.id],
      )
      assert.equal(await rig.store.getTenant(Math.max(...numbers) + 1), undefined)
      assert.equal(await rig.store.findApiKey(bytes('unknown'), 0), undefined)
    })

    const broken: Record<string, (made: NewTenant) => NewTenant> = {
      'an id that is taken': made => ({ ...made, id: 'tenant settled' }),
      'a key version given twice': made => ({ ...made, keys: [...made.keys, ...made.keys] }),
      'an application given twice': made => ({
        ...made,
        applications: [...made.applications, ...made.applications],
      }),
      'an API key that is taken': made => ({
        ...made,
        apiKeys: made.apiKeys.map(key => ({ ...key, hash: bytes('hash settled') })),
      }),
    }
    for (const [name, breaks] of Object.entries(broken))
      test(`a tenant with ${name} is not stored at all (C31.1)`, async () => {
        const { store } = rig
        await store
          .createTenant(newTenant('settled'), madeTenantLog())
          .catch(() => 'there from the test before')
        const before = await store.listTenants()
        const made = newTenant(name)
        await assert.rejects(store.createTenant(breaks(made), madeTenantLog()), isUnavailable)
        assertRows(await store.listTenants(), before)
        assert.equal(await store.findApiKey(bytes(`hash ${name}`), 0), undefined)
        const tenant = await store.createTenant(made, madeTenantLog())
        assertRows(await store.listTenantKeys(tenant), made.keys)
        for (const number of [tenant - 1, tenant + 1])
          assert.equal(await store.getApplication(number, `application ${name}`), undefined)
      })

    test('a tenant can get new key versions, which are listed by purpose and version (C31.7)', async () => {
      const tenant = await rig.store.createTenant(newTenant('rotating'), madeTenantLog())
      const row: KeyRow = { purpose: 'data', version: 2, wrapped: bytes('the next') }
      const other = await rig.again()
      const before = [rig.store.grantsEpoch(), other.grantsEpoch()]
      await rig.write(writeSet(tenant, { guarded: [{ kind: 'insertTenantKey', row }] }))
      const isHeard = (): boolean =>
        [rig.store, other].every((store, index) => store.grantsEpoch() > (before[index] ?? 0))
      const deadline = performance.now() + 1_000
      do await new Promise(resolve => setImmediate(resolve))
      while (!isHeard() && performance.now() < deadline)
      assert.ok(isHeard(), 'every node learns of it, within a second (C27)')
      const keys = await rig.store.listTenantKeys(tenant)
      assert.deepEqual(
        keys.map(({ purpose, version }) => `${purpose} ${version}`),
        ['data 1', 'data 2', 'index 1'],
      )
      assertRows(keys[1], row)
    })

    test('the vault keys are stored once, whoever comes first (C34.7)', async () => {
      const other = await rig.again()
      const keys = (by: string): KeyRow[] =>
        ['api-keys', 'grants'].map(purpose => ({
          purpose,
          version: 1,
          wrapped: bytes(`${purpose} by ${by}`),
        }))
      assert.deepEqual(await rig.store.listVaultKeys(), [])
      const kept = await Promise.all([
        rig.store.ensureVaultKeys(keys('one')),
        other.ensureVaultKeys(keys('other')),
        rig.store.ensureVaultKeys(keys('a third')),
      ])
      const stored = await rig.store.listVaultKeys()
      assert.equal(stored.length, 2)
      for (const seen of kept) assertRows(seen, stored)
      assertRows(await other.listVaultKeys(), stored)
      assert.equal(
        new Set(stored.map(({ wrapped }) => Buffer.from(wrapped).toString().split(' by ')[1])).size,
        1,
      )
    })

    test('a wrapped key is replaced if it is still what it was, and no other is (C14.4)', async () => {
      const { store } = rig
      const [tenant, neighbour] = [
        await store.createTenant(newTenant('rewrapped'), madeTenantLog()),
        await store.createTenant(newTenant('left alone'), madeTenantLog()),
      ]
      await store.ensureVaultKeys([
        { purpose: 'a', version: 1, wrapped: bytes('of the vault') },
        { purpose: 'a', version: 2, wrapped: bytes('another of the vault') },
      ])
      const others = await store.listTenantKeys(neighbour)
      for (const { owner, read } of [
        { owner: 'vault' as const, read: () => store.listVaultKeys() },
        { owner: tenant, read: () => store.listTenantKeys(tenant) },
      ]) {
        const [key, ...rest] = await read()
        assert.ok(key && rest.length > 0)
        let before = key
        // The last is longer: providers differ in what they add.
        for (const text of ['wrapped anew', 'wrapped a third time, and longer']) {
          const wrapped = bytes(text)
          assert.equal(await store.replaceKey(owner, before, wrapped), true)
          for (const stale of [before, { ...before, wrapped, version: 9 }])
            assert.equal(await store.replaceKey(owner, stale, bytes('not stored')), false)
          before = { ...key, wrapped }
          assertRows(await read(), [before, ...rest])
        }
      }
      assertRows(await store.listTenantKeys(neighbour), others)
      const [known] = others
      assert.ok(known)
      assert.equal(await store.replaceKey(neighbour + 1_000, known, bytes('not stored')), false)
    })
  })
}
