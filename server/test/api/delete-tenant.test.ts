import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { evidenceTables, logTables } from '../../src/store/tables.ts'
import type { GuardedChange, WriteSet } from '../../src/store/write-set.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { sqlite } from '../rig/engines.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { rowsOfTenant } from '../rig/stored-rows.ts'
import { TestVault } from '../rig/test-vault.ts'

const card = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
  metadata: { customer: '7' },
  deduplicate_token: true,
}
const another = { ...card, data: { ...card.data, number: '5555555555554444' } }

/** The log outlives its tenant (L7). */
const outliving: readonly string[] = [...logTables, ...evidenceTables].map(({ name }) => name)

/** How many rows of the tenant each table has, without its log; tables with none are left out. */
const rowsOf = async (vault: TestVault, tenant: number): Promise<Record<string, number>> =>
  Object.fromEntries(
    [...(await rowsOfTenant(vault, tenant))]
      .map(([name, rows]) => [name, rows.length] as const)
      .filter(([name, count]) => count !== 0 && !outliving.includes(name)),
  )

const numberOf = async (vault: TestVault, tenantId: string): Promise<number> => {
  const row = (await vault.store.listTenants()).find(({ id }) => id === tenantId)
  assert.ok(row)
  return row.tenant
}

const assertUnauthorized = (reply: TestReply): void => {
  assert.equal(reply.status, 401, reply.text)
  assert.equal(reply.headers.get('www-authenticate'), 'ApiKey header="SVC-API-KEY"')
  assert.equal(reply.body.title, 'Unauthorized')
}

onEveryEngine('delete the tenant', (vault, aboveStorage) => {
  const remove = (key: string): Promise<TestReply> => vault().delete('/tenants/self', key)

  test('deleting needs tenant:delete and answers 204 with an empty body (§4.9.1, §5.10, C1.4)', async () => {
    const { keys } = await vault().tenant({
      ...ownerAndManager,
      other: { type: 'management', permissions: ['tenant:read', 'tenant:update', 'application:delete'] },
      remover: { type: 'management', permissions: ['tenant:delete'] },
    })
    assert.equal((await remove(keys.other)).status, 403)
    assert.equal((await remove(keys.owner)).status, 403)
    assert.equal((await vault().send('DELETE', '/tenants/self')).status, 401)
    assert.equal((await vault().get('/tenants/self', keys.manager)).status, 200)
    const reply = await remove(keys.remover)
    assert.equal(reply.status, 204)
    assert.equal(reply.text, '')
    assert.equal(reply.headers.get('content-type'), null)
  })

  test('every key of a deleted tenant gets 401 from then on, on every endpoint (C31.8, C2.11, C27.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { id } = granted(await vault().post('/tokens', keys.owner, card))
    const made = await newApplication(vault(), keys.manager, { permissions: ['token:create'] })
    const further = granted(await vault().post(`/applications/${made.id}/keys`, keys.manager, {}))
    // Each key has been used, so the vault has cached its caller.
    for (const key of [keys.owner, keys.manager, made.key, further.key])
      granted(await vault().get('/applications/key', key))
    granted(await remove(keys.manager))
    for (const key of [keys.owner, keys.manager, made.key, further.key])
      for (const [method, path] of [
        ['GET', `/tokens/${id}`],
        ['GET', '/tokens'],
        ['POST', '/tokens'],
        ['POST', '/tokenize'],
        ['PATCH', `/tokens/${id}`],
        ['DELETE', `/tokens/${id}`],
        ['GET', '/tenants/self'],
        ['PUT', '/tenants/self'],
        ['DELETE', '/tenants/self'],
        ['GET', '/tenants/self/reports/usage'],
        ['GET', '/tenants/self/reports/indexes'],
        ['GET', '/applications'],
        ['GET', '/applications/key'],
        ['GET', '/permissions'],
        ['GET', '/unknown'],
      ] as const)
        assertUnauthorized(await vault().send(method, path, { key }))
    await vault().restart()
    assertUnauthorized(await vault().get('/tenants/self', keys.manager))
  })

  test('the keys are deleted with the request, thousands of tokens in the background (C31.6, C31.7)', async () => {
    const { tenantId, keys } = await vault().tenant(ownerAndManager)
    const tenant = await numberOf(vault(), tenantId)
    for (let batch = 0; batch < 3; batch++)
      granted(
        await vault().post(
          '/tokenize',
          keys.owner,
          Array.from({ length: 1_000 }, (_, index) => `${batch}-${index}`),
        ),
      )
    const headers = { 'svc-idempotency-key': 'a-kept-answer' }
    granted(await vault().send('POST', '/tokens', { key: keys.owner, body: card, headers }))
    const before = await rowsOf(vault(), tenant)
    assert.deepEqual(
      [before.tokens, before.transients, before.results, before.matches, before.tenant_keys],
      [3_001, 1, 1, 1, 3],
    )

    granted(await remove(keys.manager))
    const { tenants, tenant_keys, applications, api_keys, dead_tenants, ...waiting } = await rowsOf(
      vault(),
      tenant,
    )
    assert.deepEqual([tenants, tenant_keys, applications, api_keys], Array(4).fill(undefined))
    assert.equal(dead_tenants, 1)
    for (const [table, count] of Object.entries(waiting)) assert.equal(count, before[table], table)
    assert.equal(waiting.tokens, 3_001, 'the request itself removed no token')
    assert.ok(
      !vault()
        .service.vault.keyring.loaded()
        .some(({ tenantNumber }) => tenantNumber === tenant),
      'nor are its keys in memory',
    )

    await vault().restart()
    await vault().service.jobTimer.runAll()
    assert.deepEqual(await rowsOf(vault(), tenant), {}, 'also when the process ended in between')
  })

  test('another tenant keeps everything, and the same ids can be used again (C31.6, C31.9)', async () => {
    const [ours, theirs] = [await vault().tenant(ownerAndManager), await vault().tenant(ownerAndManager)]
    for (const { keys } of [ours, theirs])
      granted(await vault().post('/tokens', keys.owner, { ...card, id: 'chosen-by-both' }))
    const look = async () => ({
      token: granted(await vault().get('/tokens/chosen-by-both', theirs.keys.owner)),
      list: granted(await vault().get('/tokens?metadata.customer=7', theirs.keys.owner)),
      tenant: granted(await vault().get('/tenants/self', theirs.keys.manager)),
      usage: granted(await vault().get('/tenants/self/reports/usage', theirs.keys.manager)),
      applications: granted(await vault().get('/applications', theirs.keys.manager)),
    })
    const number = await numberOf(vault(), theirs.tenantId)
    // The first run of the jobs writes the index report and records which keys were used; these are rows too.
    await look()
    await vault().service.jobTimer.runAll()
    const [before, rows] = [await look(), await rowsOf(vault(), number)]
    granted(await remove(ours.keys.manager))
    assert.deepEqual(await look(), before)
    await vault().service.jobTimer.runAll()
    assert.deepEqual(await look(), before)
    assert.deepEqual(await rowsOf(vault(), number), rows)

    const next = await vault().tenant(ownerAndManager)
    assert.notEqual(await numberOf(vault(), next.tenantId), number)
    assert.equal((await vault().get('/tokens/chosen-by-both', next.keys.owner)).status, 404)
    granted(await vault().post('/tokens', next.keys.owner, { ...card, id: 'chosen-by-both' }))
  })

  test('of two deletions at once, one succeeds and the other gets 401 (§4.9.2, C31.8)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const gate = commitGate(vault())
    const both = [remove(keys.manager), remove(keys.manager)]
    await gate.waiting(2)
    gate.open()
    const replies = (await Promise.all(both)).sort((a, b) => a.status - b.status)
    assert.equal(replies[0]?.status, 204)
    assert.ok(replies[1])
    assertUnauthorized(replies[1])
  })

  /** Each is computed while the tenant exists, and reaches storage when it no longer does. */
  const writes: Record<string, (send: Sender, id: string) => Promise<TestReply>> = {
    'a create': send => send('owner', 'POST', '/tokens', another),
    'a create with an idempotency key': send => send('owner', 'POST', '/tokens', another, 'in-flight'),
    'a tokenize': send => send('owner', 'POST', '/tokenize', ['a', card]),
    'a PATCH': (send, id) => send('owner', 'PATCH', `/tokens/${id}`, { metadata: { a: 'b' } }),
    'a PATCH of a cvc': (send, id) => send('owner', 'PATCH', `/tokens/${id}`, { data: { cvc: '999' } }),
    'a delete of a token': (send, id) => send('owner', 'DELETE', `/tokens/${id}`),
    'a new tenant name': send => send('manager', 'PUT', '/tenants/self', { name: 'x' }),
    'a new application': send =>
      send('manager', 'POST', '/applications', { name: 'x', type: 'private', permissions: ['token:read'] }),
  }
  type Sender = (
    who: 'owner' | 'manager',
    method: string,
    path: string,
    body?: unknown,
    idempotencyKey?: string,
  ) => Promise<TestReply>

  for (const [name, write] of Object.entries(writes))
    for (const when of ['after the tenant is gone', 'in the same breath as its deletion'] as const)
      test(`${name} that reaches storage ${when} gets 401 and leaves nothing (C27.3, C31.8)`, async () => {
        const { tenantId, keys } = await vault().tenant(ownerAndManager)
        const tenant = await numberOf(vault(), tenantId)
        const { id } = granted(await vault().post('/tokens', keys.owner, card))
        const send: Sender = (who, method, path, body, idempotencyKey) =>
          vault().send(method, path, {
            key: keys[who],
            ...(body !== undefined && { body }),
            ...(idempotencyKey !== undefined && { headers: { 'svc-idempotency-key': idempotencyKey } }),
          })
        const together = when === 'in the same breath as its deletion'
        const isHeld = (set: WriteSet): boolean =>
          together || !set.effects.some(({ kind }) => kind === 'deleteTenant')
        const gate = commitGate(vault(), isHeld)
        const answers: Promise<TestReply>[] = []
        if (together) {
          answers.push(remove(keys.manager))
          await gate.waiting(1)
          answers.push(write(send, id))
          await gate.waiting(2)
        } else {
          answers.unshift(write(send, id))
          await gate.waiting(1)
          answers.unshift(remove(keys.manager))
          await answers[0]
        }
        gate.open()
        const [deletion, written] = await Promise.all(answers)
        assert.ok(deletion && written)
        assert.equal(deletion.status, 204)
        assertUnauthorized(written)
        const { tokens } = await rowsOf(vault(), tenant)
        assert.equal(tokens, 1, 'the one from before waits for the job timer')
        await vault().service.jobTimer.runAll()
        assert.deepEqual(await rowsOf(vault(), tenant), {})
      })

  for (const path of ['/tenants/self', '/tenants/self/reports/usage', '/applications', '/applications/key'])
    test(`a GET of ${path} under way while the tenant is deleted gets 401 (C31.8, C2.11)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      granted(await vault().get(path, keys.manager))
      const { store } = vault()
      const { getTenant } = store
      store.getTenant = async tenant => {
        store.getTenant = getTenant
        granted(await remove(keys.manager))
        return getTenant(tenant)
      }
      assertUnauthorized(await vault().get(path, keys.manager))
    })

  test('a data key created while the tenant is being deleted is not left behind (C27.3, C31.7)', async () => {
    const { tenantId, keys } = await vault().tenant(ownerAndManager)
    const tenant = await numberOf(vault(), tenantId)
    const gate = commitGate(vault())
    const deletion = remove(keys.manager)
    await gate.waiting(1)
    const change: GuardedChange = {
      kind: 'insertTenantKey',
      row: { purpose: 'data', version: 2, wrapped: new Uint8Array(60) },
    }
    const rotation = vault().store.commit({ tenant, guarded: [change], effects: [], counters: [], log: null })
    await gate.waiting(2)
    gate.open()
    assert.deepEqual(await rotation, { committed: false, conflict: 'tenantGone' })
    granted(await deletion)
    await vault().service.jobTimer.runAll()
    assert.deepEqual(await rowsOf(vault(), tenant), {})
  })

  aboveStorage(() => {
    test('a key is refused if its tenant is deleted while the key is being looked up (C31.8, C2.11)', async t => {
      const { tenantId, keys } = await vault().tenant(ownerAndManager)
      const tenant = await numberOf(vault(), tenantId)
      await vault().restart()
      const { store } = vault()
      const { listTenantKeys } = store
      t.mock.method(store, 'listTenantKeys', async (number: number) => {
        const ifRevision = (await store.getTenant(tenant))?.revision ?? assert.fail()
        const deletion: WriteSet = {
          tenant,
          guarded: [{ kind: 'reviseTenant', ifRevision }],
          effects: [{ kind: 'deleteTenant' }],
          counters: [],
          log: null,
        }
        assert.deepEqual(await store.commit(deletion), { committed: true })
        return listTenantKeys(number)
      })
      assertUnauthorized(await vault().get('/tokens', keys.owner))
    })
  })
})

test('no wrapped key is left in the data folder (sqlite: its files are its own) (C31.7)', async () => {
  const vault = await TestVault.start({ engine: sqlite })
  const { tenantId, keys } = await vault.tenant(ownerAndManager)
  const tenant = await numberOf(vault, tenantId)
  granted(await vault.post('/tokens', keys.owner, card))
  const wrapped = (await vault.store.listTenantKeys(tenant)).map(row => Buffer.from(row.wrapped))
  const found = (): boolean[] => {
    const files = readdirSync(vault.folder.path).map(file => readFileSync(join(vault.folder.path, file)))
    return wrapped.map(key => files.some(bytes => bytes.includes(key.subarray(5, -1))))
  }
  assert.deepEqual(found(), [true, true, true])
  granted(await vault.delete('/tenants/self', keys.manager))
  await vault.service.jobTimer.runAll()
  assert.deepEqual(found(), [false, false, false])
  await vault.stop()
})
