import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { holdRequest } from '../rig/held-request.ts'

/** A caller's rights are decided when the body has arrived, not when the head has. */
onOneEngine('grants that change while a body is arriving', 'grants are asked for above storage', vault => {
  const searcher = { permissions: ['token:search', 'token:read', 'token:create'] as const }
  const text = { type: 'token', data: 'something' }

  test('a key revoked meanwhile creates no other key (C27.2, C2.11)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const made = await newApplication(vault(), keys.manager, {
      name: 'second',
      type: 'management',
      permissions: ['application:update', 'application:read'],
    })
    const [{ id: keyId }] = (await vault().get(`/applications/${made.id}/keys`, keys.manager)).body
    const held = await holdRequest(vault(), 'POST', `/applications/${made.id}/keys`, {
      key: made.key,
      body: {},
    })
    const revoked = await vault().delete(`/applications/${made.id}/keys/${keyId}`, keys.manager)
    assert.equal(revoked.status, 204)
    assert.equal((await held.finish()).status, 401)
    assert.deepEqual((await vault().get(`/applications/${made.id}/keys`, keys.manager)).body, [])
  })

  test('a key whose application is deleted meanwhile deletes no token, though no body is expected (C27.2, C2.11)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const made = await newApplication(vault(), keys.manager, { permissions: ['token:delete'] })
    const { id } = await vault().create(keys.owner, text)
    const held = await holdRequest(vault(), 'DELETE', `/tokens/${id}`, { key: made.key, body: {} })
    assert.equal((await vault().delete(`/applications/${made.id}`, keys.manager)).status, 204)
    assert.equal((await held.finish()).status, 401)
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 200)
  })

  test('a search in a tenant deleted meanwhile is refused (C31.8, C27.2)', async () => {
    const { keys } = await vault().tenant({
      ...ownerAndManager,
      searcher: { permissions: [...searcher.permissions] },
      remover: { type: 'management', permissions: ['tenant:delete'] },
    })
    await vault().create(keys.owner, text)
    const held = await holdRequest(vault(), 'POST', '/tokens/search', {
      key: keys.searcher,
      body: { query: 'type:token' },
    })
    assert.equal((await vault().delete('/tenants/self', keys.remover)).status, 204)
    assert.equal((await held.finish()).status, 401)
  })

  test('permissions and rules are those in force when the body has arrived (C27.2, C28.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const made = await newApplication(vault(), keys.manager, {
      name: 'narrowed',
      type: 'private',
      permissions: ['token:create'],
    })
    const body = { ...text, containers: ['/a/'] }
    const unpermitted = await holdRequest(vault(), 'POST', '/tokens', { key: made.key, body })
    const narrow = (grants: object) =>
      vault().send('PUT', `/applications/${made.id}`, {
        key: keys.manager,
        body: { name: 'narrowed', ...grants },
      })
    assert.equal((await narrow({ permissions: ['token:read'] })).status, 200)
    assert.equal((await unpermitted.finish()).status, 403)

    assert.equal((await narrow({ permissions: ['token:create'] })).status, 200)
    const outside = await holdRequest(vault(), 'POST', '/tokens', { key: made.key, body })
    const rule = { priority: 1, container: '/b/', transform: 'mask', permissions: ['token:create'] }
    assert.equal((await narrow({ rules: [rule] })).status, 200)
    assert.equal((await outside.finish()).status, 403)
    assert.equal((await vault().get('/tokens', keys.owner)).body.pagination.total_items, 0)
  })

  test('a key that expired meanwhile is refused (C2.11)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const made = await newApplication(vault(), keys.manager, {
      name: 'short-lived',
      type: 'private',
      permissions: ['token:create'],
    })
    const expiresAt = new Date(vault().now + 60_000).toISOString()
    const { body: short } = await vault().post(`/applications/${made.id}/keys`, keys.manager, {
      expires_at: expiresAt,
    })
    const held = await holdRequest(vault(), 'POST', '/tokens', { key: short.key, body: text })
    vault().now += 60_001
    assert.equal((await held.finish()).status, 401)
  })

  test('a request whose key cannot be looked up again gets 503, and later ones are answered (C2.23)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const held = await holdRequest(vault(), 'POST', '/tokens', { key: keys.owner, body: text })
    const { store } = vault()
    const { findApiKey } = store
    await newApplication(vault(), keys.manager, { name: 'so that grants have changed' })
    store.findApiKey = () => Promise.reject(new StoreUnavailableError('storage cannot be read'))
    try {
      assert.equal((await held.finish()).status, 503)
    } finally {
      store.findApiKey = findApiKey
    }
    assert.equal((await vault().get('/tokens', keys.owner)).body.pagination.total_items, 0)
  })

  for (const [name, narrow, status] of [
    [
      'is revoked',
      (path: string, keyId: string, key: string) => vault().delete(`${path}/keys/${keyId}`, key),
      401,
    ],
    ['loses its application', (path: string, _id: string, key: string) => vault().delete(path, key), 401],
    [
      'loses a permission',
      (path: string, _id: string, key: string) =>
        vault().send('PUT', path, { key, body: { name: 'x', permissions: ['application:read'] } }),
      403,
    ],
    [
      'expires, while another changes grants,',
      (path: string, _id: string, key: string) => {
        vault().now += 60_000
        return vault().send('PUT', path, { key, body: { name: 'x' } })
      },
      401,
    ],
  ] as const)
    test(`a change is refused if its key ${name} between its checks and its write (C27.2, C27.3)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const made = await newApplication(vault(), keys.manager, {
        name: 'second',
        type: 'management',
        permissions: ['application:update', 'application:read'],
      })
      const path = `/applications/${made.id}`
      const expires_at = new Date(vault().now + 60_000).toISOString()
      const { id: keyId, key } = (await vault().post(`${path}/keys`, keys.manager, { expires_at })).body
      let isFirst = true
      const gate = commitGate(vault(), () => {
        const held = isFirst
        isFirst = false
        return held
      })
      const own = (await vault().get('/applications/key', keys.owner)).body.id
      const change = vault().post(`/applications/${own}/keys`, key, {})
      await gate.waiting(1)
      assert.ok((await narrow(path, keyId, keys.manager)).status < 300)
      gate.open()
      assert.equal((await change).status, status)
      assert.equal((await vault().get(`/applications/${own}/keys`, keys.manager)).body.length, 1)
    })

  test('a caller whose permission was taken away meanwhile grants nothing to another application (C27.2, C2.12)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const deputy = await newApplication(vault(), keys.manager, {
      name: 'deputy',
      type: 'management',
      permissions: ['application:update', 'application:read'],
    })
    const target = await newApplication(vault(), keys.manager, {
      name: 'target',
      permissions: ['token:create'],
    })
    const held = await holdRequest(vault(), 'PUT', `/applications/${target.id}`, {
      key: deputy.key,
      body: { name: 'target', permissions: ['token:create', 'token:read', 'token:delete'] },
    })
    const body = { name: 'deputy', permissions: ['application:read'] }
    const narrowed = await vault().send('PUT', `/applications/${deputy.id}`, { key: keys.manager, body })
    assert.equal(narrowed.status, 200)
    assert.equal((await held.finish()).status, 403)
    const { permissions } = (await vault().get(`/applications/${target.id}`, keys.manager)).body
    assert.deepEqual(permissions, ['token:create'])
  })
})
