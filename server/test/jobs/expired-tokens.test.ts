import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { sweepExpired } from '../../src/operations/maintenance/sweep-expired.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import type { WriteSet } from '../../src/store/write-set.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { type StoredRow, spoilTokens, storedRows } from '../rig/stored-rows.ts'
import { tamper } from '../rig/tamper.ts'
import { owner, type TestApplication, type TestVault } from '../rig/test-vault.ts'

const day = 86_400_000
/** Its unfiltered lists are counted by that container's counter alone. */
const cornerReader = {
  rules: [{ priority: 1, container: '/corner/', transform: 'mask', permissions: ['token:read'] }],
} as const satisfies TestApplication

const rowOfNobody = {
  id: 'x',
  type: 'token',
  version: 1,
  createdAt: 0,
  createdBy: 'x',
  modifiedAt: null,
  modifiedBy: null,
  expiresAt: 1,
  transientUntil: null,
  activeMonth: 0,
  sealed: new Uint8Array(),
}

onEveryEngine('expired tokens', vaultOfSuite => {
  let vault: TestVault
  let keys: Record<'owner' | 'cornerReader', string>
  let tenant: number
  before(async () => {
    vault = vaultOfSuite()
    const made = await vault.tenant({ owner, cornerReader })
    keys = made.keys
    tenant = await vault.tenantNumber(made.tenantId)
  })

  const sweep = (): Promise<void> => vault.service.jobTimer.runAll()
  const soon = (milliseconds: number): string => new Date(vault.now + milliseconds).toISOString()
  const total = async (query = '', key = keys.owner): Promise<number> =>
    (await vault.get(`/tokens${query}`, key)).body.pagination.total_items
  const ofTenant = async (table: string): Promise<StoredRow[]> =>
    (await storedRows(vault, table)).filter(row => row.tenant === tenant)
  const counters = async (): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      (await ofTenant('counters'))
        .filter(({ name, value }) => value !== 0 && /^(type|container|several)/.test(String(name)))
        .map(({ name, value }) => [String(name), value]),
    )

  test('from the instant it expires, a token is found nowhere, though it is still stored (C17.3, C17.4, C17.5)', async () => {
    const definition = {
      type: 'card',
      data: { number: '4242424242424242', cvc: '123' },
      metadata: { customer: 'c-1' },
      containers: ['/corner/', '/other/'],
      deduplicate_token: true,
    }
    const before = {
      all: await total(),
      corner: await total('', keys.cornerReader),
      counters: await counters(),
    }
    const made = await vault.create(keys.owner, { ...definition, expires_at: soon(day) })
    const queries = [
      `?id=${made.id}`,
      '?type=card',
      '?metadata.customer=c-1',
      '?container=/corner/',
      `?fingerprint=${made.fingerprint}`,
    ]
    vault.now += day - 1
    assert.equal((await vault.get(`/tokens/${made.id}`, keys.owner)).status, 200)
    assert.equal(await total(), before.all + 1)
    for (const query of queries) assert.equal(await total(query), 1, query)

    vault.now += 1
    assert.equal((await vault.get(`/tokens/${made.id}`, keys.owner)).status, 404)
    assert.equal((await vault.patch(`/tokens/${made.id}`, keys.owner, {})).status, 404)
    assert.equal((await vault.delete(`/tokens/${made.id}`, keys.owner)).status, 404)
    assert.equal(await total(), before.all)
    assert.equal(await total('', keys.cornerReader), before.corner)
    for (const query of queries) assert.equal(await total(query), 0, query)
    assert.ok((await ofTenant('tokens')).some(row => row.token_id === made.id))

    const again = await vault.create(keys.owner, definition)
    assert.equal(again._extras.deduplicated, false, 'an expired token is no match')
    const twin = await vault.create(keys.owner, definition)
    assert.equal(twin.id, again.id, 'the new one is')

    await sweep()
    for (const table of ['tokens', 'terms', 'matches', 'transients'])
      assert.deepEqual(
        (await ofTenant(table)).filter(row => row.token_id === made.id),
        [],
        table,
      )
    assert.equal((await vault.create(keys.owner, definition)).id, again.id, 'also after the sweep')
    assert.equal(await total(), before.all + 1)
    await vault.delete(`/tokens/${again.id}`, keys.owner)
    assert.deepEqual(await counters(), before.counters)
  })

  test('the sweep leaves storage as if the tokens had never existed (C17.6, §2.3.2, §3.4)', async () => {
    const before = {
      counters: await counters(),
      terms: (await ofTenant('terms')).length,
      matches: (await ofTenant('matches')).length,
    }
    for (let index = 0; index < 20; index++)
      await vault.create(keys.owner, {
        type: 'token',
        data: `value ${index}`,
        metadata: { [`key ${index}`]: 'value' },
        containers: index % 2 === 0 ? ['/corner/'] : ['/corner/deep/', '/other/'],
        search_indexes: ['{{ data }}'],
        deduplicate_token: true,
        expires_at: soon(1_000 + index),
      })
    assert.equal(await total('', keys.cornerReader), 20)
    vault.now += 1_010
    assert.equal(await total('', keys.cornerReader), 9, 'half of them are due')
    await sweep()
    assert.equal(await total('', keys.cornerReader), 9)
    vault.now += 1_000
    await sweep()
    assert.equal(await total('', keys.cornerReader), 0)
    assert.deepEqual(
      {
        counters: await counters(),
        terms: (await ofTenant('terms')).length,
        matches: (await ofTenant('matches')).length,
      },
      before,
    )
  })

  test('an expiry changed by a patch takes effect, in the index as well (C17.4, C18.1)', async () => {
    const made = await vault.create(keys.owner, {
      type: 'token',
      data: 'moved',
      metadata: { moved: 'yes' },
      expires_at: soon(1_000),
    })
    await vault.patch(`/tokens/${made.id}`, keys.owner, { expires_at: soon(3_000) })
    vault.now += 2_000
    await sweep()
    assert.equal(await total('?metadata.moved=yes'), 1)
    await vault.patch(`/tokens/${made.id}`, keys.owner, { expires_at: null })
    vault.now += 2_000
    await sweep()
    assert.equal(await total('?metadata.moved=yes'), 1)
    await vault.patch(`/tokens/${made.id}`, keys.owner, { expires_at: soon(1) })
    vault.now += 1
    assert.equal(await total('?metadata.moved=yes'), 0)
    await sweep()
    assert.ok(!(await ofTenant('tokens')).some(row => row.token_id === made.id))
  })

  test('a sweep that storage refuses fails instead of seeming to find nothing (C17.6)', async t => {
    await sweep()
    const tokens = 5
    for (let at = 0; at < tokens; at++)
      await vault.create(keys.owner, { type: 'token', data: 'x', expires_at: soon(1) })
    vault.now += 1
    const refused = t.mock.method(vault.store, 'commit', async () => {
      throw new StoreUnavailableError('down')
    })
    await assert.rejects(sweepExpired(vault.service.vault), StoreUnavailableError)
    assert.equal(refused.mock.callCount(), 1 + 3, 'together, and three of them once more')
    refused.mock.restore()
    assert.equal((await sweepExpired(vault.service.vault)).purged, tokens)
  })

  test('a token that storage does not let go of holds up no other (C17.6)', async t => {
    await sweep()
    const held = await vault.create(keys.owner, { type: 'token', data: 'held', expires_at: soon(1) })
    vault.now += 1
    for (let at = 0; at < 3; at++)
      await vault.create(keys.owner, { type: 'token', data: 'x', expires_at: soon(1) })
    vault.now += 1
    const { commit } = vault.store
    const refused = t.mock.method(vault.store, 'commit', async (set: WriteSet) => {
      if (set.guarded.some(change => change.kind === 'deleteToken' && change.id === held.id))
        throw new StoreUnavailableError('somebody holds its row')
      return commit(set)
    })
    await assert.rejects(sweepExpired(vault.service.vault), /somebody holds its row/)
    refused.mock.restore()
    assert.deepEqual(
      (await ofTenant('tokens')).map(row => row.token_id),
      [held.id],
    )
    assert.equal((await sweepExpired(vault.service.vault)).purged, 1)
  })

  test('more tokens that do not open than fit on a page keep no other from being purged (C17.6)', async () => {
    await sweep()
    const definitions = Array.from({ length: pace.sweepBatchRows + 1 }, () => ({
      type: 'token',
      data: 'x',
      expires_at: soon(1),
    }))
    const made = await vault.post('/tokenize', keys.owner, definitions)
    const ids = made.body.map(({ id }: { id: string }) => id)
    await spoilTokens(vault, ids)
    const sound = await vault.create(keys.owner, { type: 'token', data: 'x', expires_at: soon(2) })
    vault.now += 2
    const { purged, unreadable } = await sweepExpired(vault.service.vault)
    assert.deepEqual({ purged, unreadable }, { purged: 1, unreadable: ids.length })
    assert.ok((await ofTenant('tokens')).every(row => row.token_id !== sound.id))
    await tamper(vault, 'DELETE FROM tokens WHERE tenant = ?', tenant)
  })

  test('a sweep reports that the keys of a tenant are locked, and purges the tokens of others (C17.6)', async t => {
    const locked = await vault.tenant({ owner })
    await vault.create(locked.keys.owner, { type: 'token', data: 'x', expires_at: soon(1) })
    await vault.create(keys.owner, { type: 'token', data: 'x', expires_at: soon(1) })
    vault.now += 1
    const { keyring } = vault.service.vault
    const { of } = keyring
    const lock = t.mock.method(keyring, 'of', async (number: number, id: string) => {
      if (id === locked.tenantId) throw new KeyProviderError('locked')
      return of(number, id)
    })
    const swept = await sweepExpired(vault.service.vault)
    assert.equal(swept.purged, 1)
    assert.ok(swept.locked instanceof KeyProviderError)
    lock.mock.restore()
    assert.deepEqual(await sweepExpired(vault.service.vault), {
      purged: 1,
      unreadable: 0,
      unreadableNames: [],
    })
  })

  test('tokens of a tenant that is deleted, or is being deleted, hold up no others (C17.6, C31.6)', async t => {
    await sweep()
    const manager = { type: 'management', permissions: ['tenant:delete'] } as const
    const [gone, going] = [await vault.tenant({ owner, manager }), await vault.tenant({ owner, manager })]
    for (const key of [gone.keys.owner, going.keys.owner, keys.owner])
      await vault.create(key, { type: 'token', data: 'x', expires_at: soon(1) })
    vault.now += 1
    assert.equal((await vault.delete('/tenants/self', gone.keys.manager)).status, 204)
    const { keyring } = vault.service.vault
    const { of } = keyring
    let isDeleted = false
    t.mock.method(keyring, 'of', async (number: number, id: string) => {
      if (id !== going.tenantId || isDeleted) return of(number, id)
      isDeleted = true
      assert.equal((await vault.delete('/tenants/self', going.keys.manager)).status, 204)
      throw new KeyProviderError('it has no keys any more')
    })
    assert.deepEqual(await sweepExpired(vault.service.vault), {
      purged: 1,
      unreadable: 0,
      unreadableNames: [],
    })
    assert.deepEqual(await ofTenant('tokens'), [])
  })

  test('a sweep that is told to stop ends with the page it is at (C17.6)', async t => {
    const nobodys = { ...rowOfNobody, tenant: 1_000_000 }
    const list = t.mock.method(vault.store, 'listExpiredTokens', async () =>
      list.mock.callCount() < 3 ? Array.from({ length: pace.sweepBatchRows }, () => nobodys) : [],
    )
    await sweepExpired(vault.service.vault, AbortSignal.abort())
    assert.equal(list.mock.callCount(), 1)
  })
})
