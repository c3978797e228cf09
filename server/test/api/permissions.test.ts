import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'

/** C28: which types of application may hold each permission. */
const holders: Readonly<Record<string, readonly string[]>> = {
  'token:create': ['public', 'private'],
  'token:read': ['private'],
  'token:update': ['public', 'private'],
  'token:delete': ['private'],
  'token:search': ['private'],
  'token:use': ['private'],
  'tenant:read': ['management'],
  'tenant:update': ['management'],
  'tenant:delete': ['management'],
  'application:create': ['management'],
  'application:read': ['management'],
  'application:update': ['management'],
  'application:delete': ['management'],
  'report:read': ['management'],
  'log:read': ['management'],
  'proxy:create': ['management'],
  'proxy:read': ['management'],
  'proxy:update': ['management'],
  'proxy:delete': ['management'],
  'webhook:create': ['management'],
  'webhook:read': ['management'],
  'webhook:update': ['management'],
  'webhook:delete': ['management'],
  'event:read': ['private', 'management'],
}

const proxy = { name: 'P', destination_url: 'https://api.example.com/' }
const webhook = { name: 'W', url: 'https://hooks.example.com/', events: ['token.*'] }

onOneEngine('permissions', 'refused before storage is asked', vault => {
  test('any key can list every permission with the application types that may hold it (C29.5)', async () => {
    const { keys } = await vault().tenant({ ...ownerAndManager, nothing: {}, public: { type: 'public' } })
    for (const key of Object.values(keys)) {
      const reply = await vault().get('/permissions', key)
      assert.equal(reply.status, 200)
      assert.deepEqual(
        Object.fromEntries(
          reply.body.map((entry: { type: string; application_types: string[] }) => [
            entry.type,
            entry.application_types,
          ]),
        ),
        holders,
      )
      for (const entry of reply.body) assert.ok(entry.description.length > 0)
    }
    assert.equal((await vault().send('GET', '/permissions')).status, 401)
    assert.equal((await vault().get('/permissions?type=token:read', keys.owner)).status, 400)
  })

  test('the list can be filtered by application type (C29.5)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    for (const type of ['public', 'private', 'management']) {
      const reply = granted(await vault().get(`/permissions?application_type=${type}`, keys.owner))
      assert.deepEqual(
        reply.map((entry: { type: string }) => entry.type),
        Object.keys(holders).filter(permission => holders[permission]?.includes(type)),
      )
    }
    for (const query of [
      'application_type=x',
      'application_type=',
      'application_type=toString',
      'application_typ=public',
    ])
      assert.equal((await vault().get(`/permissions?${query}`, keys.owner)).status, 400, query)
  })

  for (const [permission, types] of Object.entries(holders))
    for (const type of ['public', 'private', 'management'])
      test(`${permission} ${types.includes(type) ? 'can' : 'cannot'} be held by a ${type} application (C28.1, C28.2, C28.4, C28.5)`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const body = { name: 'x', type, permissions: [permission] }
        const reply = await vault().post('/applications', keys.manager, body)
        assert.equal(reply.status, types.includes(type) ? 201 : 400)
        const { id } = await newApplication(vault(), keys.manager, { type })
        const update = { name: 'x', permissions: [permission] }
        const updated = await vault().send('PUT', `/applications/${id}`, { key: keys.manager, body: update })
        assert.equal(updated.status, types.includes(type) ? 200 : 400)
      })

  /** Each endpoint, and the permission without which it answers 403. */
  const endpoints: readonly { name: string; method: string; path: string; needs: string; body?: unknown }[] =
    [
      { name: 'tokenizing (§5.4)', method: 'POST', path: '/tokenize', needs: 'token:create', body: 'x' },
      {
        name: 'creating a token (§5.4)',
        method: 'POST',
        path: '/tokens',
        needs: 'token:create',
        body: { type: 'token', data: 'x' },
      },
      { name: 'listing tokens (§5.5)', method: 'GET', path: '/tokens', needs: 'token:read' },
      { name: 'listing tokens by cursor (C25.1)', method: 'GET', path: '/v2/tokens', needs: 'token:read' },
      {
        name: 'searching tokens (C26.1)',
        method: 'POST',
        path: '/tokens/search',
        needs: 'token:search',
        body: { query: 'type:token' },
      },
      {
        name: 'searching tokens by cursor (C25.1)',
        method: 'POST',
        path: '/v2/tokens/search',
        needs: 'token:search',
        body: { query: 'type:token' },
      },
      { name: 'getting a token (§5.5)', method: 'GET', path: '/tokens/a-token', needs: 'token:read' },
      {
        name: 'updating a token (§5.6)',
        method: 'PATCH',
        path: '/tokens/a-token',
        needs: 'token:update',
        body: {},
      },
      { name: 'deleting a token (§5.7)', method: 'DELETE', path: '/tokens/a-token', needs: 'token:delete' },
      { name: 'getting the tenant (§5.8)', method: 'GET', path: '/tenants/self', needs: 'tenant:read' },
      {
        name: 'updating the tenant (§5.9)',
        method: 'PUT',
        path: '/tenants/self',
        needs: 'tenant:update',
        body: { name: 'x' },
      },
      {
        name: 'getting the usage report (§5.11)',
        method: 'GET',
        path: '/tenants/self/reports/usage',
        needs: 'report:read',
      },
      { name: 'listing proxies (U18.1)', method: 'GET', path: '/proxies', needs: 'proxy:read' },
      {
        name: 'creating a proxy (U18.1)',
        method: 'POST',
        path: '/proxies',
        needs: 'proxy:create',
        body: proxy,
      },
      { name: 'listing webhooks (E3.1)', method: 'GET', path: '/webhooks', needs: 'webhook:read' },
      {
        name: 'listing the types of events (E3.1)',
        method: 'GET',
        path: '/webhooks/event-types',
        needs: 'webhook:read',
      },
      {
        name: 'creating a webhook (E3.1)',
        method: 'POST',
        path: '/webhooks',
        needs: 'webhook:create',
        body: webhook,
      },
      { name: 'reading the log (L5.1)', method: 'GET', path: '/logs', needs: 'log:read' },
      {
        name: 'listing what the log is about (L5.1)',
        method: 'GET',
        path: '/logs/entity-types',
        needs: 'log:read',
      },
      { name: 'exporting the log (L5.1)', method: 'GET', path: '/logs/export', needs: 'log:read' },
      { name: 'reading the feed (E6.1)', method: 'GET', path: '/events', needs: 'event:read' },
      { name: 'reading an event (E6.1)', method: 'GET', path: '/events/:event', needs: 'event:read' },
      {
        name: 'deleting the tenant (§5.10)',
        method: 'DELETE',
        path: '/tenants/self',
        needs: 'tenant:delete',
      },
    ]
  for (const { name, method, path, needs, body } of endpoints)
    test(`${name} needs ${needs}, and no other permission will do (C2.12)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      granted(await vault().post('/tokens', keys.owner, { id: 'a-token', type: 'token', data: 'x' }))
      const [event] = granted(await vault().get('/events', keys.manager)).data
      const send = (key: string) =>
        vault().send(method, path.replace(':event', event.id), { key, ...(body !== undefined && { body }) })
      const flatOf = (wanted: (permission: string) => boolean, type: string) => ({
        type,
        permissions: Object.keys(holders).filter(held => holders[held]?.includes(type) && wanted(held)),
      })
      for (const type of ['public', 'private', 'management']) {
        const all = await newApplication(
          vault(),
          keys.manager,
          flatOf(held => held !== needs, type),
        )
        const refused = await send(all.key)
        assert.equal(refused.status, 403, `every other permission of ${type}`)
        assert.equal(refused.body.title, 'Forbidden')
        assert.equal(refused.body.detail, `This needs the permission ${needs}.`)
        if (type === 'management') continue
        const permissions = flatOf(held => held !== needs, type).permissions
        const rules = [{ priority: 1, container: '/', transform: 'reveal', permissions }]
        const byRule = await newApplication(vault(), keys.manager, { type, rules })
        assert.equal((await send(byRule.key)).status, 403, `every other permission of ${type}, by a rule`)
      }
      for (const type of holders[needs] ?? []) {
        const only = await newApplication(
          vault(),
          keys.manager,
          flatOf(held => held === needs, type),
        )
        granted(await send(only.key))
        if (method === 'DELETE') return
      }
    })

  test('a general key creates and updates, a private one reads and deletes, a management one runs the tenant (§5.2)', async () => {
    const { keys } = await vault().tenant({
      general: { permissions: ['token:create', 'token:update'] },
      private: {
        rules: [
          { priority: 1, container: '/', transform: 'reveal', permissions: ['token:read', 'token:delete'] },
        ],
      },
      management: ownerAndManager.manager,
    })
    const { id } = granted(await vault().post('/tokens', keys.general, { type: 'token', data: 'x' }))
    granted(await vault().patch(`/tokens/${id}`, keys.general, { data: 'y' }))
    assert.equal(granted(await vault().get(`/tokens/${id}`, keys.private)).data, 'y')
    granted(await vault().delete(`/tokens/${id}`, keys.private))
    granted(await vault().send('PUT', '/tenants/self', { key: keys.management, body: { name: 'x' } }))
    granted(await vault().get('/tenants/self', keys.management))
    granted(await vault().get('/tenants/self/reports/usage', keys.management))
    granted(await vault().delete('/tenants/self', keys.management))
  })
})
