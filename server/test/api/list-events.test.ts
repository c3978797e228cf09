import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints } from '../../src/contract/endpoints.ts'
import { toldOperations } from '../../src/domain/events/event.ts'
import { eventFamilies, eventTypes } from '../../src/domain/events/event-types.ts'
import { pace } from '../../src/domain/pace.ts'
import { cutLogs } from '../../src/operations/maintenance/cut-logs.ts'
import { sweepExpired } from '../../src/operations/maintenance/sweep-expired.ts'
import { granted } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onEveryEngine, onOneEngine } from '../rig/every-engine.ts'
import { readFeed, typesOf } from '../rig/feed-pages.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { isLong } from '../rig/long-run.ts'
import { secondNode } from '../rig/second-node.ts'
import type { TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const dayMs = 86_400_000
const text = { type: 'token', data: 'Canary Value' }
const card = {
  type: 'card',
  data: { number: '4111111111111111', expiration_month: 1, expiration_year: 2030 },
}
const canaries = ['Canary', 'canary', '4111111111111111']

const newTenant = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant({
    ...ownerAndManager,
    reader: { permissions: ['event:read', 'token:create'] },
    general: {
      rules: [{ priority: 1, container: '/general/', transform: 'mask', permissions: ['event:read'] }],
    },
  })
  return { tenantId, keys }
}

onEveryEngine('the feed', vault => {
  test('every change is one event with the right object and actor, and no value in it (E1.1, E1.2, E2.1, E6.1)', async () => {
    const { tenantId, keys } = await newTenant(vault())
    const { service } = vault()
    const actor = granted(await vault().get('/applications/key', keys.owner)).id
    const manager = granted(await vault().get('/applications/key', keys.manager)).id
    const told: [string, object, string | undefined][] = []
    const expect = (type: string, data: object, by: string | undefined) => told.push([type, data, by])

    const { id } = await vault().create(keys.owner, { ...card, metadata: { canary: 'canary' } })
    const token = { token: { id, type: 'card', containers: ['/pci/high/'] } }
    expect('token.created', token, actor)
    granted(await vault().patch(`/tokens/${id}`, keys.owner, { metadata: { canary: 'more' } }))
    expect('token.updated', token, actor)
    const { body } = await vault().post('/tokenize', keys.owner, { a: 'canary 1', b: ['canary 2'] })
    for (const each of [body.a, body.b[0]])
      expect('token.created', { token: { id: each, type: 'token', containers: ['/general/high/'] } }, actor)
    await vault().delete(`/tokens/${id}`, keys.owner)
    expect('token.deleted', token, actor)
    const application = await newApplication(vault(), keys.manager, { name: 'canary' })
    expect('application.created', { application: { id: application.id } }, manager)
    const at = `/applications/${application.id}`
    granted(
      await vault().send('PUT', at, {
        key: keys.manager,
        body: { name: 'canary', permissions: ['token:read'] },
      }),
    )
    expect('application.updated', { application: { id: application.id } }, manager)
    const key = granted(await vault().post(`${at}/keys`, keys.manager, {}))
    expect('application.key.created', { key: { id: key.id } }, manager)
    await vault().delete(`${at}/keys/${key.id}`, keys.manager)
    expect('application.key.deleted', { key: { id: key.id } }, manager)
    await vault().delete(at, keys.manager)
    expect('application.deleted', { application: { id: application.id } }, manager)
    const wishes = {
      webhook: { name: 'canary', url: 'https://canary.example.com/', events: ['token.*'] },
      proxy: { name: 'canary', destination_url: 'https://canary.example.com/' },
    }
    for (const [kind, wish] of Object.entries(wishes)) {
      const path = kind === 'proxy' ? '/proxies' : '/webhooks'
      const made = granted(await vault().post(path, keys.manager, wish))
      const about = { [kind]: { id: made.id } }
      expect(`${kind}.created`, about, manager)
      granted(await vault().send('PUT', `${path}/${made.id}`, { key: keys.manager, body: wish }))
      const renew = kind === 'proxy' ? 'key' : 'secret'
      granted(await vault().post(`${path}/${made.id}/${renew}`, keys.manager, {}))
      if (kind === 'proxy')
        granted(await vault().patch(`${path}/${made.id}`, keys.manager, { name: 'canary too' }))
      for (let times = 0; times < (kind === 'proxy' ? 3 : 2); times++)
        expect(`${kind}.updated`, about, manager)
      await vault().delete(`${path}/${made.id}`, keys.manager)
      expect(`${kind}.deleted`, about, manager)
    }
    granted(
      await vault().send('PUT', '/tenants/self', { key: keys.manager, body: { name: 'canary tenant' } }),
    )
    expect('tenant.updated', { tenant: { id: tenantId } }, manager)
    const dying = await vault().create(keys.owner, { ...text, expires_at: '2026-03-01T12:10:00Z' })
    const mortal = { token: { id: dying.id, type: 'token', containers: ['/general/high/'] } }
    expect('token.created', mortal, actor)
    vault().now = Math.max(vault().now, Date.parse('2026-03-01T12:10:00Z'))
    await sweepExpired(service.vault)
    expect('token.expired', mortal, undefined)

    const { events } = await readFeed(vault(), keys.manager)
    const byRequest = (type: string | undefined) => (type === 'token.expired' ? 'job' : 'application')
    assert.deepEqual(
      events.map(({ type, data: { actor: who, ...rest } }) => [type, rest, who]),
      told.map(([type, data, by]) => [
        type,
        data,
        { ...(by !== undefined && { id: by }), type: byRequest(type) },
      ]),
    )
    for (const event of events) {
      assert.match(event.id, /^evt_[0-9a-f-]{36}(-\d+)?$/)
      assert.equal(event.tenant_id, tenantId)
      assert.equal('trace_id' in event, event.type !== 'token.expired')
    }
    assert.equal(new Set(events.map(({ id: own }) => own)).size, events.length)
    assertAbsent({ feed: JSON.stringify(events) }, [...canaries, ...Object.values(keys)])
    const records = await recordsOfTenant(service.vault, tenantId)
    for (const event of events) {
      const record = records.find(({ id: own }) => event.id.startsWith(`evt_${own}`))
      assert.deepEqual([record?.sequence, record?.at], [event.sequence, event.timestamp])
    }
  })

  test('an expiry is told with the removal of the token, by whoever removes it (E2.3)', async () => {
    const { keys } = await newTenant(vault())
    const expires_at = new Date(vault().now + 1_000).toISOString()
    for (const id of ['in-the-way', 'swept']) await vault().create(keys.owner, { ...text, id, expires_at })
    vault().now += 1_000
    const told = async (): Promise<unknown[]> =>
      (await readFeed(vault(), keys.manager, 'type=token.expired')).events.map(({ data }) => [
        (data.token as { id: string }).id,
        data.actor,
      ])
    assert.deepEqual(await told(), [])
    await vault().create(keys.owner, { ...text, id: 'in-the-way' })
    assert.deepEqual(await told(), [['in-the-way', { type: 'job' }]])
    await sweepExpired(vault().service.vault)
    assert.deepEqual(await told(), [
      ['in-the-way', { type: 'job' }],
      ['swept', { type: 'job' }],
    ])
  })

  test('the tokens of a record are an event each, which pages of any size cut anywhere (E1.3, E6.3)', async () => {
    const { keys } = await newTenant(vault())
    const values = Array.from({ length: 620 }, (_, at) => `canary ${at}`)
    const made = granted(await vault().post('/tokenize', keys.owner, values)) as string[]
    await vault().create(keys.owner, text)
    const whole = await readFeed(vault(), keys.manager, 'size=1000')
    assert.deepEqual(
      whole.events.slice(0, 620).map(({ data }) => (data.token as { id: string }).id),
      made,
    )
    assert.equal(whole.events.length, 621)
    const first = whole.events[0]?.id ?? ''
    assert.deepEqual(
      whole.events.slice(0, 3).map(({ id }) => id),
      [first, `${first}-1`, `${first}-2`],
    )
    // More than 500 tokens are two records.
    const [one, same, other] = [0, 499, 500].map(at => whole.events[at]?.sequence)
    assert.deepEqual([same === one, other === one], [true, false])
    for (const size of [7, 100, 499, 620]) {
      const { pages, events } = await readFeed(vault(), keys.manager, `size=${size}`)
      assert.deepEqual(events, whole.events, `size ${size}`)
      assert.ok(pages.every((page, at) => page.length === size || at === pages.length - 1))
    }
  })

  test('each event comes once, in the order of its writer, also while nodes write (E6.3, L3.2)', async () => {
    const { tenantId, keys } = await newTenant(vault())
    const nodes = [vault(), await secondNode(vault()), await secondNode(vault())]
    try {
      let isOver = false
      const followed: string[] = []
      const follow = async () => {
        let start = ''
        for (let isLast = false; ; ) {
          const path = `/events?size=13${start === '' ? '' : `&start=${start}`}`
          const { pagination, data } = granted(await vault().get(path, keys.manager))
          start = pagination.next
          followed.push(...data.map(({ id }: { id: string }) => id))
          if (data.length > 0) continue
          if (isLast) return
          isLast = isOver
        }
      }
      const following = follow()
      const made = await Promise.all(
        nodes.flatMap(node =>
          Array.from({ length: 12 }, async () => {
            const ids: string[] = []
            for (let at = 0; at < (isLong ? 84 : 6); at++)
              ids.push(granted(await node.send('POST', '/tokens', { key: keys.owner, body: text })).id)
            return ids
          }),
        ),
      )
      isOver = true
      await following
      const { events } = await readFeed(vault(), keys.manager, 'type=token.created&size=17')
      assert.deepEqual(events.map(({ data }) => (data.token as { id: string }).id).sort(), made.flat().sort())
      assert.deepEqual(followed.toSorted(), events.map(({ id }) => id).sort())
      const records = await recordsOfTenant(vault().service.vault, tenantId)
      const places = new Map(records.map(({ id, sequence }) => [`evt_${id}`, sequence]))
      for (const told of [followed, events.map(({ id }) => id)]) {
        const byWriter = Map.groupBy(told, id => places.get(id)?.split('.')[0])
        for (const ofWriter of byWriter.values()) {
          const numbers = ofWriter.map(id => Number(places.get(id)?.split('.')[1]))
          assert.deepEqual(
            numbers,
            numbers.toSorted((one, other) => one - other),
          )
        }
      }
    } finally {
      for (const node of nodes.slice(1)) await (node as Awaited<ReturnType<typeof secondNode>>).stop()
    }
  })

  test('a cursor from before retention is refused with the oldest one (E6.4)', async () => {
    const { keys } = await newTenant(vault())
    await vault().create(keys.owner, text)
    const { pagination } = granted(await vault().get('/events?size=1', keys.manager))
    await vault().create(keys.owner, text)
    const inner = vault().service.vault
    await inner.acts.flush()
    await inner.evidence.checkpoint()
    vault().now += 100 * dayMs
    const { id } = await vault().create(keys.owner, text)
    await inner.evidence.checkpoint()
    assert.ok((await cutLogs(inner, { retentionDays: 90 })) > 0)
    const old = await vault().get(`/events?start=${pagination.next}`, keys.manager)
    assert.deepEqual([old.status, old.body.code], [410, 'cursor_too_old'])
    const { data } = granted(await vault().get(`/events?start=${old.body.oldest}&type=token.*`, keys.manager))
    assert.deepEqual(
      data.map((event: { data: { token: { id: string } } }) => event.data.token.id),
      [id],
    )
    const { next } = await readFeed(vault(), keys.manager)
    assert.equal((await vault().get(`/events?start=${next}`, keys.manager)).status, 200)
  })
})

onOneEngine('the feed above storage', 'the log reads alike', vault => {
  test('types are exact or a family; tokens read are told to whoever names them, or nothing (E2.2, E6.2)', async () => {
    const { keys } = await newTenant(vault())
    const { id } = await vault().create(keys.owner, text)
    await vault().get(`/tokens/${id}`, keys.owner)
    await vault().get('/tokens', keys.owner)
    await newApplication(vault(), keys.manager, {})
    await vault().service.vault.acts.flush()
    const ofTypes = async (query: string) => typesOf((await readFeed(vault(), keys.manager, query)).events)
    const all = ['token.created', 'token.read', 'token.read', 'application.created']
    assert.deepEqual(await ofTypes(''), all)
    assert.deepEqual(await ofTypes('type=token.*'), ['token.created'])
    assert.deepEqual(await ofTypes('type=token.*&type=token.read'), all.slice(0, 3))
    assert.deepEqual(await ofTypes('type=application.*'), ['application.created'])
    assert.deepEqual(await ofTypes('type=application.key.*'), [])
    for (const wrong of ['*', 'token', 'token.', 'token.creatd', 'canary', 'constructor', ''])
      assert.equal((await vault().get(`/events?type=${wrong}`, keys.manager)).status, 400, wrong)
    const { errors } = (await vault().get('/events?type=token.creatd', keys.manager)).body
    assert.match(errors.type[0], /did you mean token.created/)
    assert.deepEqual(eventFamilies, [
      'token.*',
      'application.*',
      'application.key.*',
      'tenant.*',
      'proxy.*',
      'webhook.*',
    ])
  })

  test('a page is empty only at the end, however much it must examine (E6.3)', async () => {
    const { keys } = await newTenant(vault())
    const { id } = await vault().create(keys.owner, text)
    const { eventPageRecords } = pace
    Object.assign(pace, { eventPageRecords: 5 })
    try {
      for (let at = 0; at < 40; at++) await vault().get(`/tokens/${id}`, keys.owner)
      await newApplication(vault(), keys.manager, {})
      for (let at = 0; at < 40; at++) await vault().get(`/tokens/${id}`, keys.owner)
      await vault().service.vault.acts.flush()
      const rare = await readFeed(vault(), keys.manager, 'type=application.created')
      assert.deepEqual(
        rare.pages.map(page => page.length),
        [1],
      )
      const { pages, events } = await readFeed(vault(), keys.manager)
      assert.equal(events.length, 82)
      assert.ok(pages.length > 10, 'pages end early')
    } finally {
      Object.assign(pace, { eventPageRecords })
    }
  })

  test('what changed nothing is no event: replays, equal tokens, refusals (E1.4)', async () => {
    const { keys } = await newTenant(vault())
    const send = (method: string, path: string, key: string, body: unknown) =>
      vault().send(method, path, { key, body, headers: { 'svc-idempotency-key': `${method}-${path}` } })
    const wish = { ...text, data: 'equal', deduplicate_token: true, fingerprint_expression: '{{ data }}' }
    for (let times = 0; times < 3; times++) {
      await send('POST', '/tokens', keys.owner, text)
      await send('POST', '/applications', keys.manager, { name: 'x', type: 'private' })
    }
    const one = await vault().post('/tokens', keys.owner, wish)
    const two = await vault().post('/tokens', keys.owner, wish)
    assert.equal(two.body._extras?.deduplicated, true, two.text)
    assert.equal(one.body.id, two.body.id)
    const other = await vault().create(keys.owner, { ...wish, data: 'other' })
    const patched = granted(await vault().patch(`/tokens/${other.id}`, keys.owner, { data: 'equal' }))
    assert.equal(patched._extras?.deduplicated, true)
    await vault().delete('/tokens/nobody', keys.owner)
    await vault().post('/tokens', keys.manager, text)
    assert.deepEqual(typesOf((await readFeed(vault(), keys.manager)).events), [
      'token.created',
      'application.created',
      'token.created',
      'token.created',
    ])
  })

  test('rules that grant it say of which tokens; flat permissions tell of all (E6.5)', async () => {
    const { keys } = await newTenant(vault())
    await vault().create(keys.owner, card)
    const { id } = await vault().create(keys.owner, text)
    await newApplication(vault(), keys.manager, {})
    const all = ['token.created', 'token.created', 'application.created']
    assert.deepEqual(typesOf((await readFeed(vault(), keys.reader)).events), all)
    const { events } = await readFeed(vault(), keys.general)
    assert.deepEqual(typesOf(events), all.slice(1))
    assert.deepEqual(events[0]?.data.token, { id, type: 'token', containers: ['/general/high/'] })
  })

  test('a cursor is of one tenant, whole and unchanged (E6.2)', async () => {
    const [one, other] = [await newTenant(vault()), await newTenant(vault())]
    const { next } = await readFeed(vault(), one.keys.manager)
    const logs = granted(await vault().get('/logs?size=1', one.keys.manager)).pagination.next
    for (const start of [next.slice(1), `${next}A`, `${next}=`, 'x', logs])
      assert.equal((await vault().get(`/events?start=${start}`, one.keys.manager)).status, 400, start)
    assert.equal((await vault().get(`/events?start=${next}`, other.keys.manager)).status, 400)
    assert.equal((await vault().get(`/events?start=${next}&type=tenant.*`, one.keys.manager)).status, 200)
    for (const size of ['0', '1001', 'x'])
      assert.equal((await vault().get(`/events?size=${size}`, one.keys.manager)).status, 400)
  })

  test('what endpoints change is told, but for what tells of itself, and nothing else is (E2.1)', () => {
    // A proxied request is told by the record of its end.
    const silent = ['invokeProxy', 'explainAccess', 'deleteTenant', 'testWebhook', 'retryDelivery']
    for (const { id, method, logs } of Object.values(endpoints)) {
      if (logs === 'no act') continue
      const reads = method === 'GET' || /^(search|detokenize)/.test(id)
      assert.equal(Object.hasOwn(toldOperations, id), !reads && !silent.includes(id), id)
    }
    const told = new Set(Object.values(toldOperations).map(({ type }) => type))
    const toldOtherwise = ['token.read', 'token.used', 'proxy.invoked']
    assert.deepEqual(eventTypes.filter(type => !told.has(type)).toSorted(), toldOtherwise.toSorted())
  })
})
