import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { newUuid } from '../../src/crypto/uuid.ts'
import { appearance, granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { putFailedDelivery, putWebhook, unreachable } from '../rig/put-webhook.ts'
import { webhookFor } from '../rig/receivers.ts'
import { rowsOfTenant } from '../rig/stored-rows.ts'
import type { TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const unknownId = '019ac000-0000-7000-8000-000000000000'
const card = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
  metadata: { customer: 'the same' },
  containers: ['/shared/'],
}

const proxy = { name: 'P', destination_url: 'https://api.example.com/', configuration: { a: 'b' } }
const webhook = { name: 'W', url: 'https://hooks.example.com/', events: ['token.*'] }

type Tenant = {
  tenantId: string
  keys: Record<keyof typeof ownerAndManager, string>
  token: string
  chosen: string
  application: string
  apiKey: string
  event: string
  proxy: string
  webhook: string
  delivery: string
}
type Who = keyof typeof ownerAndManager

/** Each endpoint that names something: who asks, and what is sent. The first body is one that would succeed. */
const asked: Record<string, { who: Who; bodies: readonly unknown[] }> = {
  getToken: { who: 'owner', bodies: [undefined] },
  updateToken: {
    who: 'owner',
    bodies: [
      { metadata: { stolen: 'yes' } },
      {},
      { data: { number: '1' } },
      { containers: ['/ours/'] },
      { mask: null, deduplicate_token: true, expires_at: '2030-01-01' },
      { data: null },
      { id: 'x' },
    ],
  },
  deleteToken: { who: 'owner', bodies: [undefined] },
  getApplication: { who: 'manager', bodies: [undefined] },
  updateApplication: {
    who: 'manager',
    bodies: [
      { name: 'stolen' },
      { name: 'x', permissions: ['token:read'] },
      { name: '' },
      { name: 'x', type: 'public' },
    ],
  },
  deleteApplication: { who: 'manager', bodies: [undefined] },
  listApiKeys: { who: 'manager', bodies: [undefined] },
  createApiKey: { who: 'manager', bodies: [{}, { expires_at: '2030-01-01' }, { expires_at: 'x' }] },
  getApiKey: { who: 'manager', bodies: [undefined] },
  deleteApiKey: { who: 'manager', bodies: [undefined] },
  getEvent: { who: 'manager', bodies: [undefined] },
  getProxy: { who: 'manager', bodies: [undefined] },
  updateProxy: { who: 'manager', bodies: [proxy, { ...proxy, name: '' }] },
  patchProxy: { who: 'manager', bodies: [{ name: 'stolen' }, {}, { name: '' }] },
  createProxyKey: { who: 'manager', bodies: [{}] },
  deleteProxy: { who: 'manager', bodies: [undefined] },
  getWebhook: { who: 'manager', bodies: [undefined] },
  updateWebhook: { who: 'manager', bodies: [webhook, { ...webhook, name: '' }] },
  createWebhookSecret: { who: 'manager', bodies: [{}, { grace_hours: 99 }] },
  deleteWebhook: { who: 'manager', bodies: [undefined] },
  testWebhook: { who: 'manager', bodies: [undefined] },
  listDeliveries: { who: 'manager', bodies: [undefined] },
  retryDelivery: { who: 'manager', bodies: [undefined] },
  explainAccess: {
    who: 'manager',
    bodies: [
      { permission: 'token:read', type: 'card' },
      { permission: 'x', type: 'card' },
    ],
  },
}

/** Everything that storage holds of a tenant. */
const stateOf = async (vault: TestVault, tenant: number): Promise<string> =>
  JSON.stringify([...(await rowsOfTenant(vault, tenant))])

onOneEngine(
  'two tenants',
  'no store shows rows of another tenant, as its contract says',
  (vault, aboveStorage) => {
    const found = async (): Promise<Tenant> => {
      const { tenantId, keys } = await vault().tenant(ownerAndManager)
      const { id: token } = granted(await vault().post('/tokens', keys.owner, card))
      const { id: chosen } = granted(
        await vault().post('/tokens', keys.owner, { ...card, id: `chosen-${token}` }),
      )
      const { id: application } = await newApplication(vault(), keys.manager, { permissions: ['token:read'] })
      const [{ id: apiKey }] = granted(await vault().get(`/applications/${application}/keys`, keys.manager))
      const [{ id: event }] = granted(await vault().get('/events', keys.manager)).data
      const { id: proxyId } = granted(await vault().post('/proxies', keys.manager, proxy))
      const webhookId = newUuid()
      await putWebhook(vault(), tenantId, webhookFor(unreachable, webhookId))
      const delivery = await putFailedDelivery(vault(), tenantId, webhookId)
      return {
        tenantId,
        keys,
        token,
        chosen,
        application,
        apiKey,
        event,
        proxy: proxyId,
        webhook: webhookId,
        delivery,
      }
    }
    const numberOf = async ({ tenantId }: Tenant): Promise<number> => {
      const row = (await vault().store.listTenants()).find(({ id }) => id === tenantId)
      assert.ok(row)
      return row.tenant
    }

    test('every endpoint with an id in its path is covered below (C31.9)', () => {
      const naming = Object.values<Endpoint>(endpoints).filter(
        ({ path, permission }) => path.includes(':') && permission !== 'open',
      )
      assert.deepEqual(naming.map(({ id }) => id).sort(), Object.keys(asked).sort())
    })

    for (const [endpointId, { who, bodies }] of Object.entries(asked)) {
      const endpoint = Object.values<Endpoint>(endpoints).find(({ id }) => id === endpointId)
      assert.ok(endpoint)
      const { method, path } = endpoint
      const second = /:(keyId|deliveryId)/
      const hasSecond = second.test(path)
      const secondOf = ({ apiKey, delivery }: Tenant): string => (path.includes(':keyId') ? apiKey : delivery)
      const firstOf = (of: Tenant): string =>
        [of.token, of.event, of.proxy, of.webhook][
          ['/tokens', '/events', '/proxies', '/webhooks'].findIndex(folder => path.startsWith(folder))
        ] ?? of.application
      test(`${method} ${path}: what another tenant has looks like what does not exist (§1.3, C31.9, C2.13, C2.14)`, async () => {
        const [ours, theirs] = [await found(), await found()]
        const theirNumber = await numberOf(theirs)
        const send = (id: string, secondId: string, body: unknown): Promise<TestReply> =>
          vault().send(method, path.replace(':id', encodeURIComponent(id)).replace(second, secondId), {
            key: ours.keys[who],
            ...(body !== undefined && { body }),
          })
        const before = await stateOf(vault(), theirNumber)
        for (const body of bodies) {
          const missing = appearance(await send(unknownId, unknownId, body))
          assert.ok(missing.status === 404 || missing.status === 400, `${missing.status}`)
          const { tenantId, keys: _, ...ids } = theirs
          const names = [...Object.values(ids), tenantId]
          for (const id of names)
            for (const secondId of hasSecond ? [secondOf(theirs), secondOf(ours), unknownId] : [unknownId])
              assert.deepEqual(appearance(await send(id, secondId, body)), missing, `${id} ${secondId}`)
          if (hasSecond)
            assert.deepEqual(appearance(await send(firstOf(ours), secondOf(theirs), body)), missing)
        }
        assert.equal(await stateOf(vault(), theirNumber), before, 'and nothing was touched')
        // For its owners it does exist.
        const [first] = bodies
        const own = path.replace(':id', firstOf(theirs)).replace(second, secondOf(theirs))
        const reply = await vault().send(method, own, {
          key: theirs.keys[who],
          ...(first !== undefined && { body: first }),
        })
        granted(reply)
      })
    }

    test('nothing of another tenant is listed or counted, whatever the filter (§1.3, C24.5, C24.10)', async () => {
      const [ours, theirs] = [await found(), await found()]
      const { fingerprint } = granted(await vault().get(`/tokens/${theirs.token}`, theirs.keys.owner))
      const list = async ({ keys }: Tenant, query: string) =>
        granted(await vault().get(`/tokens${query}`, keys.owner))
      for (const [query, own] of [
        ['', 2],
        ['?container=/shared/', 2],
        ['?type=card', 2],
        ['?metadata.customer=the%20same', 2],
        [`?id=${theirs.token}`, 0],
        [`?id=${theirs.token}&id=${theirs.chosen}&id=${ours.token}`, 1],
        [`?fingerprint=${fingerprint}`, 0],
        [`?metadata=${encodeURIComponent('{"customer":"the same"}')}`, 2],
      ] as const) {
        const { pagination, data } = await list(ours, query)
        assert.equal(pagination.total_items, own, query)
        for (const token of data) assert.equal(token.tenant_id, ours.tenantId)
      }
      for (const query of [
        `id:${theirs.token}`,
        `fingerprint:${fingerprint}`,
        `created_by:${theirs.application} AND type:card`,
      ]) {
        const found = granted(await vault().post('/tokens/search', ours.keys.owner, { query }))
        assert.equal(found.pagination.total_items, 0, query)
      }
      const { body: page } = await vault().get('/v2/tokens?size=1', theirs.keys.owner)
      const cursor = encodeURIComponent(page.pagination.next)
      assert.equal((await vault().get(`/v2/tokens?size=1&start=${cursor}`, ours.keys.owner)).status, 400)
      granted(await vault().get(`/v2/tokens?size=1&start=${cursor}`, theirs.keys.owner))
      const applications = await vault().get('/applications?size=100', ours.keys.manager)
      assertAbsent({ applications: applications.text }, [theirs.application, theirs.tenantId, theirs.apiKey])
      assert.equal(applications.body.pagination.total_items, 3)
    })

    test('activity in another tenant changes no count (C32.1, C32.2)', async () => {
      const [ours, theirs] = [await found(), await found()]
      const usage = async () => (await vault().get('/tenants/self/reports/usage', ours.keys.manager)).text
      const before = await usage()
      granted(await vault().post('/tokenize', theirs.keys.owner, ['a', 'b', card]))
      granted(await vault().get(`/tokens/${theirs.token}`, theirs.keys.owner))
      granted(await vault().delete(`/tokens/${theirs.chosen}`, theirs.keys.owner))
      await vault().service.jobTimer.runAll()
      assert.equal(await usage(), before)
    })

    test('ids, equal values and fingerprints do not collide across tenants (C16.4, C15.3, C14.1)', async () => {
      const [ours, theirs] = [await found(), await found()]
      const before = await stateOf(vault(), await numberOf(theirs))
      const same = granted(await vault().post('/tokens', ours.keys.owner, { ...card, id: theirs.chosen }))
      assert.equal(same.id, theirs.chosen, 'an id that another tenant has is free')
      const fresh = { ...card, data: { ...card.data, number: '5555555555554444' }, deduplicate_token: true }
      const [one, two] = [
        granted(await vault().post('/tokens', ours.keys.owner, fresh)),
        granted(await vault().post('/tokens', ours.keys.owner, fresh)),
      ]
      assert.deepEqual([one._extras.deduplicated, two._extras.deduplicated], [false, true])
      assert.equal(await stateOf(vault(), await numberOf(theirs)), before)
      const other = granted(await vault().post('/tokens', theirs.keys.owner, fresh))
      assert.equal(other._extras.deduplicated, false)
      assert.notEqual(other.fingerprint, one.fingerprint)
      granted(await vault().delete(`/tokens/${theirs.chosen}`, ours.keys.owner))
      assert.equal((await vault().get(`/tokens/${theirs.chosen}`, theirs.keys.owner)).status, 200)
    })

    aboveStorage(() => {
      test('an idempotency key that another tenant has used is new (C33.1)', async () => {
        const [ours, theirs] = [await found(), await found()]
        const send = ({ keys }: Tenant, who: Who, method: string, path: string, body: unknown) =>
          vault().send(method, path, {
            key: keys[who],
            body,
            headers: { 'svc-idempotency-key': 'used-by-both' },
          })
        const requests: [Who, string, string, unknown][] = [
          ['owner', 'POST', '/tokens', card],
          ['owner', 'POST', '/tokenize', 'x'],
          ['manager', 'PUT', '/tenants/self', { name: 'x' }],
          ['manager', 'POST', '/applications', { name: 'x', type: 'private' }],
        ]
        for (const request of requests)
          for (const tenant of [theirs, ours]) {
            const reply = await send(tenant, ...request)
            granted(reply)
            assert.equal(reply.headers.get('idempotent-replayed'), null)
          }
      })
    })

    test('settings, applications and keys change for their own tenant only (§5.3, C27.2)', async () => {
      const [ours, theirs] = [await found(), await found()]
      const before = await stateOf(vault(), await numberOf(theirs))
      const { manager } = ours.keys
      granted(
        await vault().send('PUT', '/tenants/self', {
          key: manager,
          body: { name: 'x', settings: { deduplicate_tokens: true } },
        }),
      )
      granted(
        await vault().send('PUT', `/applications/${ours.application}`, { key: manager, body: { name: 'y' } }),
      )
      granted(await vault().delete(`/applications/${ours.application}`, manager))
      assert.equal(await stateOf(vault(), await numberOf(theirs)), before)
      granted(await vault().get('/tokens', theirs.keys.owner))
    })

    test('each answer belongs to the tenant of its key, however many requests run at once (§5.3)', async () => {
      const tenants = [await found(), await found(), await found()]
      const answers = await Promise.all(
        Array.from({ length: 30 }, async (_, at) => {
          const tenant = tenants[at % tenants.length] ?? assert.fail()
          const [made, self, list] = await Promise.all([
            vault().post('/tokens', tenant.keys.owner, card),
            vault().get('/tenants/self', tenant.keys.manager),
            vault().get('/tokens?size=5', tenant.keys.owner),
          ])
          return {
            tenant,
            ids: [granted(made).tenant_id, granted(self).id, ...granted(list).data.map(tenantOf)],
          }
        }),
      )
      for (const { tenant, ids } of answers) assert.deepEqual([...new Set(ids)], [tenant.tenantId])
    })
    const tenantOf = ({ tenant_id }: { tenant_id: string }): string => tenant_id
  },
)
