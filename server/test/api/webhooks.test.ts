import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissionsByType } from '../../src/domain/access/permissions.ts'
import { eventTypes } from '../../src/domain/events/event-types.ts'
import { liveSecrets, type Webhook } from '../../src/domain/webhooks/webhook.ts'
import { loadGrants } from '../../src/operations/grants/load-grants.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { tamper } from '../rig/tamper.ts'
import { assertAbsent } from '../rig/traces.ts'

const hour = 3_600_000
const ledger = {
  name: 'Ledger',
  url: 'https://hooks.example.com/strongroom',
  events: ['token.created', 'token.*', 'application.key.*'],
}

/** What is refused, and at which places; nothing changes. */
const refused: readonly { name: string; send: Record<string, unknown>; errors: readonly string[] }[] = [
  {
    name: 'an address in place of a name (E3.6)',
    send: { url: 'https://169.254.169.254/' },
    errors: ['url'],
  },
  { name: 'a URL without TLS (E3.6)', send: { url: 'http://hooks.example.com/' }, errors: ['url'] },
  { name: 'a user name in the URL (E3.6)', send: { url: 'https://a@hooks.example.com/' }, errors: ['url'] },
  {
    name: 'a port that the operator does not allow (E3.6)',
    send: { url: 'https://hooks.example.com:444/' },
    errors: ['url'],
  },
  { name: 'no events (E3.2)', send: { events: [] }, errors: ['events'] },
  { name: '101 events (E3.2)', send: { events: Array(101).fill('token.*') }, errors: ['events'] },
  { name: 'an event twice (E3.2)', send: { events: ['token.*', 'token.*'] }, errors: ['events[1]'] },
  {
    name: 'events that there are not (E3.2)',
    send: { events: ['token.create', '*', 'token', 'token.created.*', ''] },
    errors: ['events[0]', 'events[1]', 'events[2]', 'events[3]', 'events[4]'],
  },
  { name: 'a status that there is not (E3.2)', send: { status: 'paused' }, errors: ['status'] },
  { name: 'a name of 201 characters (E3.2)', send: { name: 'a'.repeat(201) }, errors: ['name'] },
  { name: 'a secret of the caller (C6.1, E3.3)', send: { secret: 'whsec_x' }, errors: ['secret'] },
]

onEveryEngine('webhooks', (vault, aboveStorage) => {
  const start = async () => {
    const { keys, tenantId } = await vault().tenant(ownerAndManager)
    return { ...keys, tenantId }
  }
  const create = async (key: string, body: object = ledger) =>
    granted(await vault().post('/webhooks', key, body))
  const at = (id: string): string => `/webhooks/${id}`
  const put = (key: string, id: string, body: unknown): Promise<TestReply> =>
    vault().send('PUT', at(id), { key, body })
  /** As whoever delivers finds it. */
  const stored = async (tenantId: string, id: string): Promise<Webhook | undefined> => {
    const tenantNumber = await vault().tenantNumber(tenantId)
    const { grants } = await loadGrants(vault().service.vault, { tenantNumber, tenant: { id: tenantId } })
    return grants.webhooks.find(({ resource }) => resource.id === id)?.resource
  }
  const signing = async (tenantId: string, id: string): Promise<string[]> => {
    const webhook = await stored(tenantId, id)
    assert.ok(webhook)
    return liveSecrets(webhook, vault().now).map(({ value }) => value.expose('comparing'))
  }

  test('a webhook is created with its secret, read, listed, replaced and deleted (E3.1, E3.2, E3.3)', async () => {
    const { manager, tenantId } = await start()
    const reply = await vault().post('/webhooks', manager, ledger)
    assert.equal(reply.status, 201)
    const { id, secret, created_by, created_at, ...rest } = reply.body
    assert.deepEqual(rest, { ...ledger, status: 'enabled' })
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(reply.headers.get('location'), at(id))
    const read = granted(await vault().get(at(id), manager))
    assert.deepEqual(read, { id, ...rest, created_by, created_at })
    assert.deepEqual(await signing(tenantId, id), [secret])

    vault().now += 1
    const other = await create(manager, { ...ledger, status: 'disabled' })
    assert.equal(other.status, 'disabled')
    const list = granted(await vault().get('/webhooks', manager))
    assert.deepEqual(
      list.data.map((each: { id: string }) => each.id),
      [other.id, id],
    )
    assert.equal(list.pagination.total_items, 2)

    const replacement = {
      name: 'x',
      url: 'https://other.example/',
      events: ['tenant.updated'],
      status: 'disabled',
    }
    const { modified_by, modified_at, ...replaced } = granted(await put(manager, id, replacement))
    assert.deepEqual(replaced, { id, ...replacement, created_by, created_at })
    assert.ok(modified_by && modified_at > created_at)
    assert.deepEqual(await signing(tenantId, id), [secret], 'the secret stays')
    granted(await put(manager, id, ledger))
    assert.equal((await stored(tenantId, id))?.status, 'enabled')

    assert.equal((await vault().delete(at(id), manager)).status, 204)
    assert.equal(await stored(tenantId, id), undefined)
    for (const { status } of [
      await vault().get(at(id), manager),
      await put(manager, id, ledger),
      await vault().delete(at(id), manager),
      await vault().post(`${at(id)}/secret`, manager, {}),
    ])
      assert.equal(status, 404)
  })

  test('the types of events are listed, and each can be asked for (E3.1)', async () => {
    const { manager } = await start()
    const types = granted(await vault().get('/webhooks/event-types', manager))
    assert.deepEqual(types, [...eventTypes])
    assert.deepEqual((await create(manager, { ...ledger, events: types })).events, types)
  })

  test('a new secret signs at once, and the one before until its grace ends; there are two at most (E3.4)', async () => {
    const { manager, tenantId } = await start()
    const { id, secret: first } = await create(manager)
    const renew = async (body?: object): Promise<string> => {
      const reply = await vault().post(`${at(id)}/secret`, manager, body)
      assert.equal(reply.status, 201, reply.text)
      assert.equal(reply.body.id, id)
      return reply.body.secret
    }
    const second = await renew({})
    assert.notEqual(second, first)
    assert.deepEqual(await signing(tenantId, id), [second, first])
    vault().now += 24 * hour - 1
    assert.deepEqual(await signing(tenantId, id), [second, first])
    vault().now += 1
    assert.deepEqual(await signing(tenantId, id), [second])
    const third = await renew({ grace_hours: 72 })
    const fourth = await renew({ grace_hours: 1 })
    assert.deepEqual(await signing(tenantId, id), [fourth, third], 'the oldest goes first')
    vault().now += hour
    assert.deepEqual(await signing(tenantId, id), [fourth])
    const fifth = await renew({ grace_hours: 0 })
    assert.deepEqual(await signing(tenantId, id), [fifth])
    granted(await put(manager, id, ledger))
    assert.deepEqual(await signing(tenantId, id), [fifth])
    for (const grace_hours of [-1, 73, 1.5, '1'])
      assert.deepEqual(
        Object.keys((await vault().post(`${at(id)}/secret`, manager, { grace_hours })).body.errors),
        ['grace_hours'],
      )
  })

  test('a secret is in one answer alone: not in replays, records, logs or storage (E3.3)', async () => {
    const { manager, tenantId } = await start()
    const headers = { 'svc-idempotency-key': 'once' }
    const send = (path: string, body: object) => vault().send('POST', path, { key: manager, body, headers })
    const [made, replayed] = [await send('/webhooks', ledger), await send('/webhooks', ledger)]
    const { id, secret, ...rest } = made.body
    const _extras = { secret: 'shown once, in the first answer to this request' }
    assert.deepEqual(replayed.body, { id, ...rest, _extras })
    const [renewed, again] = [await send(`${at(id)}/secret`, {}), await send(`${at(id)}/secret`, {})]
    const { secret: next, ...shown } = renewed.body
    assert.deepEqual(again.body, { ...shown, _extras })
    const secrets = [secret, next].map(text => text.replace('whsec_', ''))
    const log = await recordsOfTenant(vault().service.vault, tenantId)
    assert.ok(log.length >= 4)
    assertAbsent(
      {
        answers: [
          replayed,
          again,
          await vault().get(at(id), manager),
          await vault().get('/webhooks', manager),
        ]
          .map(({ text }) => text)
          .join('\n'),
        records: JSON.stringify(log),
        log: vault().log.join('\n'),
        storage: [...(await vault().engine.content(vault().folder.path)).values()]
          .map(bytes => bytes.toString('latin1'))
          .join(),
      },
      secrets,
    )
    assertAbsent({ records: JSON.stringify(log) }, ['hooks.example.com/strongroom'])
  })

  test('a tenant has at most 20 webhooks, and sees no other (E3.5, C31.9)', async () => {
    const { manager } = await start()
    const replies = await Promise.all(
      Array.from({ length: 21 }, () => vault().post('/webhooks', manager, ledger)),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array(20).fill(201), 400])
    const other = await start()
    assert.deepEqual(granted(await vault().get('/webhooks', other.manager)).data, [])
    await create(other.manager)
  })

  test('a row that was changed in storage is not used (E3.5, C28.1)', async () => {
    const { manager, tenantId } = await start()
    const [one, two] = [await create(manager), await create(manager)]
    const rows = await storedRows(vault(), 'resources')
    const sealed = rows.find(row => row.resource_id === two.id)?.sealed
    const before = rows.find(row => row.resource_id === one.id)?.sealed
    assert.ok(sealed && before)
    await tamper(vault(), 'UPDATE resources SET sealed = ? WHERE resource_id = ?', sealed, one.id)
    await assert.rejects(stored(tenantId, one.id), /corrupt/)
    assert.equal((await vault().get(at(one.id), manager)).status, 500)
    await tamper(vault(), 'UPDATE resources SET sealed = ? WHERE resource_id = ?', before, one.id)
    assert.ok(await stored(tenantId, one.id))
  })

  aboveStorage(() => {
    for (const { name, send, errors } of refused)
      test(`${name} is refused, whether created or replaced`, async () => {
        const { manager } = await start()
        const { id } = await create(manager)
        const before = granted(await vault().get(at(id), manager))
        for (const reply of [
          await vault().post('/webhooks', manager, { ...ledger, ...send }),
          await put(manager, id, { ...ledger, ...send }),
        ]) {
          assert.equal(reply.status, 400, reply.text)
          assert.deepEqual(Object.keys(reply.body.errors).sort(), [...errors].sort())
        }
        assert.deepEqual(granted(await vault().get(at(id), manager)), before)
      })

    test('each endpoint needs its own permission (E3.1)', async () => {
      const all = permissionsByType.management
      const lacking = (permission: string) => ({
        type: 'management' as const,
        permissions: all.filter(held => held !== permission),
      })
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        cannotRead: lacking('webhook:read'),
        cannotCreate: lacking('webhook:create'),
        cannotUpdate: lacking('webhook:update'),
        cannotDelete: lacking('webhook:delete'),
      })
      const { id } = await create(keys.manager)
      for (const reply of [
        await vault().get('/webhooks', keys.cannotRead),
        await vault().get('/webhooks/event-types', keys.cannotRead),
        await vault().get(at(id), keys.cannotRead),
        await vault().post('/webhooks', keys.cannotCreate, ledger),
        await put(keys.cannotUpdate, id, ledger),
        await vault().post(`${at(id)}/secret`, keys.cannotUpdate, {}),
        await vault().delete(at(id), keys.cannotDelete),
        await vault().get('/webhooks', keys.owner),
      ])
        assert.equal(reply.status, 403)
    })
  })
})
