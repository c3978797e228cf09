import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onEveryEngine } from '../rig/every-engine.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

onEveryEngine('get the tenant', vault => {
  test('a tenant is read, changed, reported on and deleted (§1.9)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const self = (method: string, path = '', body?: unknown) =>
      vault().send(method, `/tenants/self${path}`, { key: keys.manager, ...(body !== undefined && { body }) })
    assert.equal((await self('GET')).status, 200)
    assert.equal((await self('PUT', '', { name: 'Renamed' })).status, 200)
    assert.equal((await self('GET', '/reports/usage')).status, 200)
    assert.equal((await self('DELETE')).status, 204)
  })

  const newTenant = async () => {
    const { tenantId, keys } = await vault().tenant(ownerAndManager)
    return { tenantId, tenant: granted(await vault().get('/tenants/self', keys.manager)) }
  }

  test('a new tenant shows its id, name and creation date, and no change (§4.7.2, §2.4.1, §2.4.3, §2.4.6, C5.1)', async () => {
    const { tenantId, tenant } = await newTenant()
    const { owner_id: _owner, created_by: _maker, settings: _settings, ...rest } = tenant
    assert.deepEqual(rest, {
      id: tenantId,
      name: 'Test',
      created_at: '2026-03-01T12:00:00.000+00:00',
    })
  })

  test('the owner and creator of a tenant are UUIDs, with a new owner for each tenant (§2.4.2, §2.4.5, C31.1)', async () => {
    const [{ tenant: one }, { tenant: other }] = [await newTenant(), await newTenant()]
    const ids = [one.owner_id, one.created_by, other.owner_id, other.created_by]
    for (const id of ids) assert.match(id, uuid)
    assert.notEqual(one.owner_id, other.owner_id)
  })

  test('the settings of a new tenant are strings: it fingerprints and does not deduplicate (§2.4.4, §2.4.9, C31.5)', async () => {
    const { tenant } = await newTenant()
    assert.deepEqual(tenant.settings, {
      fingerprint_tokens: 'true',
      deduplicate_tokens: 'false',
      disable_ephemeral_proxy: 'true',
    })
  })

  test('a changed tenant shows who changed it last and when (§2.4.7, §2.4.8, C5.5)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
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

  test('a clock set back never dates a change before the creation or before an earlier change (§2.4.8)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { created_at } = granted(await vault().get('/tenants/self', keys.manager))
    const rename = async (): Promise<string> =>
      granted(await vault().send('PUT', '/tenants/self', { key: keys.manager, body: { name: 'Renamed' } }))
        .modified_at
    vault().now -= 1_000
    assert.equal(await rename(), created_at)
    vault().now += 3_000
    const later = await rename()
    assert.equal(Date.parse(later), vault().now)
    vault().now -= 1_000
    assert.equal(await rename(), later)
    vault().now += 1_000
  })

  test('the key determines the tenant and must hold tenant:read (§4.7.1, §5.1, §5.3, §5.8)', async () => {
    const one = await vault().tenant({
      ...ownerAndManager,
      reader: { type: 'management', permissions: ['tenant:read'] },
      other: { type: 'management', permissions: ['tenant:update', 'tenant:delete', 'report:read'] },
    })
    const two = await vault().tenant(ownerAndManager)
    assert.equal((await vault().get('/tenants/self', one.keys.reader)).body.id, one.tenantId)
    assert.equal((await vault().get('/tenants/self', two.keys.manager)).body.id, two.tenantId)
    assert.equal((await vault().get('/tenants/self', one.keys.other)).status, 403)
    assert.equal((await vault().get('/tenants/self', one.keys.owner)).status, 403)
    assert.equal((await vault().send('GET', '/tenants/self')).status, 401)
  })

  test('a tenant cannot be addressed by its id (C2.13)', async () => {
    const { tenantId, keys } = await vault().tenant(ownerAndManager)
    assert.equal((await vault().get(`/tenants/${tenantId}`, keys.manager)).status, 404)
    assert.equal((await vault().get('/tenants', keys.manager)).status, 404)
    assert.equal((await vault().get(`/tenants/self?id=${tenantId}`, keys.manager)).status, 400)
  })
})
