import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cast, granted } from '../rig/cast.ts'
import { onEveryEngine } from '../rig/every-engine.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

onEveryEngine('get the tenant', vault => {
  test('§1.9 §4.7.2 §2.4.1 §2.4.2 §2.4.3 §2.4.4 §2.4.5 §2.4.6 §2.4.9 C31.1 C31.5 C5.1 a new tenant, whole', async () => {
    const { tenantId, keys } = await vault().tenant(cast)
    const reply = await vault().get('/tenants/self', keys.manager)
    assert.equal(reply.status, 200)
    const { owner_id, created_by, ...rest } = reply.body
    assert.match(owner_id, uuid)
    assert.match(created_by, uuid)
    assert.deepEqual(rest, {
      id: tenantId,
      name: 'Test',
      settings: { fingerprint_tokens: 'true', deduplicate_tokens: 'false' },
      created_at: '2026-03-01T12:00:00.000+00:00',
    })
  })

  test('§2.4.7 §2.4.8 C5.5 who changed it last, and when', async () => {
    const { keys } = await vault().tenant(cast)
    const before = granted(await vault().get('/tenants/self', keys.manager))
    const manager = granted(await vault().get('/applications/key', keys.manager)).id
    vault().now += 1_234
    granted(await vault().send('PUT', '/tenants/self', { key: keys.manager, body: { name: 'Renamed' } }))
    assert.deepEqual(granted(await vault().get('/tenants/self', keys.manager)), {
      ...before,
      name: 'Renamed',
      modified_by: manager,
      modified_at: new Date(vault().now).toISOString().replace('Z', '+00:00'),
    })
  })

  test('§4.7.1 §5.1 §5.3 §5.8 the key says which tenant, and must hold tenant:read', async () => {
    const one = await vault().tenant({
      ...cast,
      reader: { type: 'management', permissions: ['tenant:read'] },
      other: { type: 'management', permissions: ['tenant:update', 'tenant:delete', 'report:read'] },
    })
    const two = await vault().tenant(cast)
    assert.equal((await vault().get('/tenants/self', one.keys.reader)).body.id, one.tenantId)
    assert.equal((await vault().get('/tenants/self', two.keys.manager)).body.id, two.tenantId)
    assert.equal((await vault().get('/tenants/self', one.keys.other)).status, 403)
    assert.equal((await vault().get('/tenants/self', one.keys.owner)).status, 403)
    assert.equal((await vault().send('GET', '/tenants/self')).status, 401)
  })

  test('C2.13 there is no way to name a tenant', async () => {
    const { tenantId, keys } = await vault().tenant(cast)
    assert.equal((await vault().get(`/tenants/${tenantId}`, keys.manager)).status, 404)
    assert.equal((await vault().get('/tenants', keys.manager)).status, 404)
    assert.equal((await vault().get(`/tenants/self?id=${tenantId}`, keys.manager)).status, 400)
  })
})
