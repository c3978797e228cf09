import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { permissionsByType } from '../../src/domain/access/permissions.ts'
import { hiddenValue } from '../../src/domain/proxies/proxy.ts'
import { findProxy } from '../../src/operations/proxies/find-proxy.ts'
import type { KnownProxy } from '../../src/operations/vault/vault.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { secondNode } from '../rig/second-node.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { tamper } from '../rig/tamper.ts'
import { assertAbsent } from '../rig/traces.ts'

const secret = 'canary-9c1f-of-the-destination'
const plain = { name: 'Payments', destination_url: 'https://api.payments.example/v1' }
const whole = {
  ...plain,
  configuration: { api_key: secret, 'account.id': 'acct_1' },
  request_transforms: [
    { type: 'append_header', name: 'authorization', value: 'Bearer {{ config: api_key }}' },
  ],
  response_transforms: [{ type: 'mask', matcher: 'pan' }],
  timeout: 20,
  echo_guard: false,
  methods: ['POST', 'PATCH'],
}
const shown = {
  ...whole,
  require_auth: true,
  configuration: { api_key: hiddenValue, 'account.id': hiddenValue },
}
const atFirst = {
  ...plain,
  require_auth: true,
  configuration: {},
  request_transforms: [],
  response_transforms: [],
  echo_guard: true,
}

/** What is refused, and at which places; nothing changes. */
const refused: readonly { name: string; send: Record<string, unknown>; errors: readonly string[] }[] = [
  {
    name: 'an address in place of a name (U10.4)',
    send: { destination_url: 'https://127.0.0.1/' },
    errors: ['destination_url'],
  },
  {
    name: 'a URL without TLS (U10.4)',
    send: { destination_url: 'http://a.example/' },
    errors: ['destination_url'],
  },
  {
    name: 'a port that the operator does not allow (U10.4)',
    send: { destination_url: 'https://a.example:8443/' },
    errors: ['destination_url'],
  },
  {
    name: 'an expression in the URL (U10.4)',
    send: { destination_url: 'https://a.example/{{ id }}' },
    errors: ['destination_url'],
  },
  {
    name: 'a dot segment in the URL (U10.6)',
    send: { destination_url: 'https://a.example/v1/%2e%2e/x' },
    errors: ['destination_url'],
  },
  { name: 'an empty name (U18.2)', send: { name: '' }, errors: ['name'] },
  { name: 'a name of 201 characters (U18.2)', send: { name: 'a'.repeat(201) }, errors: ['name'] },
  {
    name: 'require_auth false without an application (U18.3)',
    send: { require_auth: false },
    errors: ['application'],
  },
  {
    name: 'an application that there is not (U18.3)',
    send: { application: { id: crypto.randomUUID() } },
    errors: ['application.id'],
  },
  {
    name: '26 keys of configuration (U18.2)',
    send: { configuration: Object.fromEntries(Array.from({ length: 26 }, (_, at) => [`k${at}`, 'x'])) },
    errors: ['configuration'],
  },
  {
    name: 'a name of a value that no expression could name (U18.2)',
    send: { configuration: { 'a b': 'x', __proto__x: 'y', '1a': 'z' } },
    errors: ['configuration.1a', 'configuration.__proto__x', 'configuration.a b'],
  },
  {
    name: 'a value that is too long (U18.2)',
    send: { configuration: { a: 'x'.repeat(4_097) } },
    errors: ['configuration.a'],
  },
  { name: 'a value that is no text (U18.2)', send: { configuration: { a: 1 } }, errors: ['configuration.a'] },
  {
    name: 'a hidden value where there is none (U18.4)',
    send: { configuration: { a: hiddenValue } },
    errors: ['configuration.a'],
  },
  { name: 'a timeout of 0 (U18.2)', send: { timeout: 0 }, errors: ['timeout'] },
  { name: 'a timeout of 61 (U18.2)', send: { timeout: 61 }, errors: ['timeout'] },
  { name: 'a method that there is not (U18.2)', send: { methods: ['TRACE'] }, errors: ['methods[0]'] },
  { name: 'a method twice (U18.2)', send: { methods: ['GET', 'GET'] }, errors: ['methods[1]'] },
  {
    name: 'code (U19.5)',
    send: { request_transforms: [{ type: 'code', code: 'x' }] },
    errors: ['request_transforms[0].type'],
  },
  {
    name: 'a regular expression (U19.5)',
    send: { response_transforms: [{ type: 'mask', matcher: 'regex', expression: 'x' }] },
    errors: ['response_transforms[0].expression', 'response_transforms[0].matcher'],
  },
  {
    name: 'a transform of answers for requests (U19.2)',
    send: { request_transforms: [{ type: 'mask', matcher: 'pan' }] },
    errors: ['request_transforms[0].type'],
  },
  {
    name: 'a transform without a type (U19.1)',
    send: { response_transforms: [{}] },
    errors: ['response_transforms[0].type'],
  },
  {
    name: 'a header that the vault sets itself, and an expression that is none (U19.2)',
    send: {
      request_transforms: [
        { type: 'append_header', name: 'host', value: 'x' },
        { type: 'append_header', name: 'x', value: '{{ config: a | no_such_filter }}' },
        { type: 'append_json', value: 1 },
      ],
    },
    errors: ['request_transforms[0].name', 'request_transforms[1].value', 'request_transforms[2].location'],
  },
  {
    name: 'data of a token that is still to come (U19.3)',
    send: {
      response_transforms: [{ type: 'tokenize', token: { type: 'token', data: 1 }, location: '$.a' }],
    },
    errors: ['response_transforms[0].token.data'],
  },
  {
    name: '65 KiB of transforms (U18.2)',
    send: { request_transforms: [{ type: 'append_header', name: 'x', value: 'a'.repeat(65_536) }] },
    errors: ['$'],
  },
  { name: 'a field that there is not (C6.1)', send: { destinationUrl: 'x' }, errors: ['destinationUrl'] },
]

onOneEngine('proxies', 'every store keeps resources as its contract says', (vault, aboveStorage) => {
  const start = async () => {
    const { keys, tenantId } = await vault().tenant({
      ...ownerAndManager,
      clerk: {
        type: 'management',
        permissions: ['proxy:create', 'proxy:read', 'proxy:update', 'proxy:delete'],
      },
    })
    return { ...keys, tenantId }
  }
  const create = async (key: string, body: object = whole) =>
    granted(await vault().post('/proxies', key, body))
  const at = (id: string): string => `/proxies/${id}`
  const put = (key: string, id: string, body: unknown): Promise<TestReply> =>
    vault().send('PUT', at(id), { key, body })
  const find = async (key: string): Promise<KnownProxy | undefined> => findProxy(vault().service.vault, key)
  const exposed = (found: KnownProxy | undefined): Record<string, string> =>
    Object.fromEntries(
      Object.entries(found?.proxy.configuration ?? {}).map(([name, value]) => [
        name,
        value.expose('comparing'),
      ]),
    )

  test('a proxy is created, read, listed, replaced and deleted, and its key finds it (U18.1, U18.2, U18.6)', async () => {
    const { manager } = await start()
    const reply = await vault().post('/proxies', manager, whole)
    assert.equal(reply.status, 201)
    const { id, key, created_by, created_at, ...rest } = reply.body
    assert.deepEqual(rest, shown)
    assert.match(key, /^key_proxy_[1-9A-HJ-NP-Za-km-z]{42}$/)
    assert.equal(reply.headers.get('location'), at(id))
    const read = granted(await vault().get(at(id), manager))
    assert.deepEqual(read, { id, ...shown, created_by, created_at })
    assert.deepEqual((await find(key))?.proxy.id, id)
    assert.deepEqual(exposed(await find(key)), whole.configuration)

    vault().now += 1
    const other = await create(manager, plain)
    assert.deepEqual(
      { ...other, id: 0, key: 0, created_by: 0, created_at: 0 },
      { ...atFirst, id: 0, key: 0, created_by: 0, created_at: 0 },
    )
    const list = granted(await vault().get('/proxies?size=1', manager))
    assert.deepEqual(list.pagination, { total_items: 2, page_number: 1, page_size: 1, total_pages: 2 })
    assert.deepEqual(
      list.data.map((each: { id: string }) => each.id),
      [other.id],
    )
    assert.equal((await vault().get('/proxies?id=x', manager)).status, 400)

    vault().now += 1
    const replaced = granted(await put(manager, id, plain))
    assert.deepEqual(
      { ...replaced, created_by: 0, created_at: 0, modified_by: 0, modified_at: 0 },
      { id, ...atFirst, created_by: 0, created_at: 0, modified_by: 0, modified_at: 0 },
    )
    assert.ok(replaced.modified_at > replaced.created_at)
    assert.equal((await find(key))?.proxy.requestTransforms.length, 0, 'the key stays')
    assert.equal((await vault().delete(at(id), manager)).status, 204)
    assert.equal(await find(key), undefined)
    for (const reply of [
      await vault().get(at(id), manager),
      await vault().delete(at(id), manager),
      await put(manager, id, plain),
    ])
      assert.equal(reply.status, 404)
  })

  test('a patch changes what it names and keeps the rest, hidden values too (U18.1, U18.4)', async () => {
    const { manager } = await start()
    const { id, key } = await create(manager)
    const reply = await vault().patch(at(id), manager, {
      timeout: null,
      methods: null,
      configuration: { 'account.id': null, other: 'x' },
    })
    assert.deepEqual([reply.status, reply.text], [204, ''])
    const { timeout, methods, ...kept } = shown
    const read = granted(await vault().get(at(id), manager))
    assert.deepEqual(read.configuration, { api_key: hiddenValue, other: hiddenValue })
    assert.deepEqual([read.timeout, read.methods, read.name], [undefined, undefined, kept.name])
    assert.deepEqual(exposed(await find(key)), { api_key: secret, other: 'x' })
    granted(await put(manager, id, { ...whole, configuration: read.configuration }))
    assert.deepEqual(exposed(await find(key)), { api_key: secret, other: 'x' })
    for (const patch of [
      { name: null },
      { destination_url: null },
      { require_auth: false },
      { configuration: { gone: hiddenValue } },
      { id: 'x' },
    ]) {
      const fault = await vault().patch(at(id), manager, patch)
      assert.equal(fault.status, 400, JSON.stringify(patch))
    }
    assert.equal(
      (await vault().send('PATCH', at(id), { key: manager, body: {}, type: 'application/json' })).status,
      415,
    )
    assert.equal((await vault().patch(at(crypto.randomUUID()), manager, {})).status, 404)
  })

  test('numbers in transforms stay as they were sent (C7, U19.2)', async () => {
    const { manager } = await start()
    const send = `{"name":"x","destination_url":"${plain.destination_url}","request_transforms":[{"type":"append_json","value":12345678901234567890.10,"location":"$.a"}]}`
    const made = await vault().send('POST', '/proxies', { key: manager, raw: send })
    assert.equal(made.status, 201, made.text)
    const read = await vault().get(at(made.body.id), manager)
    for (const { text } of [made, read]) assert.ok(text.includes('"value":12345678901234567890.10'), text)
  })

  test('the configuration is shown nowhere: not in answers, replays, records, logs or storage (U18.4)', async () => {
    const { manager, tenantId } = await start()
    const logged = vault().log.length
    const once = { 'svc-idempotency-key': 'once' }
    const send = (method: string, path: string, body: unknown) =>
      vault().send(method, path, {
        key: manager,
        body,
        headers: once,
        ...(method === 'PATCH' && { type: 'application/merge-patch+json' }),
      })
    const replies = [await send('POST', '/proxies', whole), await send('POST', '/proxies', whole)]
    const { id, key } = replies[0]?.body ?? {}
    for (let time = 0; time < 2; time++) {
      replies.push(await send('PATCH', at(id), { configuration: { api_key: `${secret}-2` } }))
      replies.push(await send('PUT', at(id), whole))
      replies.push(await send('POST', `${at(id)}/key`, {}))
    }
    replies.push(await vault().post('/proxies', manager, { ...whole, name: '' }))
    replies.push(await vault().get(at(id), manager), await vault().get('/proxies', manager))
    const log = await recordsOfTenant(vault().service.vault, tenantId)
    assert.ok(log.length >= 8)
    const resources = await storedRows(vault(), 'resources')
    assert.ok(resources.length > 0)
    assertAbsent(
      {
        answers: replies.map(({ text }) => text).join('\n'),
        records: JSON.stringify(log),
        log: vault().log.slice(logged).join('\n'),
        storage: [...(await vault().engine.content(vault().folder.path)).values()]
          .map(bytes => bytes.toString('latin1'))
          .join(),
      },
      [secret, 'acct_1'],
    )
    assertAbsent({ records: JSON.stringify(log), log: vault().log.join('\n') }, [
      key,
      'payments.example/v1',
      'Bearer',
    ])
    assert.equal(replies[1]?.headers.get('idempotent-replayed'), 'true')
    const { key: _key, ...again } = replies[0]?.body ?? {}
    assert.deepEqual(replies[1]?.body, {
      ...again,
      _extras: { key: 'shown once, in the first answer to this request' },
    })
    assert.equal(
      (await storedRows(vault(), 'resources')).filter(({ kind }) => kind === 'proxy').length,
      resources.length,
    )
  })

  test('a new key ends the old one at once, also on another node (U18.6, C27.2)', async () => {
    const { manager } = await start()
    const { id, key } = await create(manager)
    const other = await secondNode(vault())
    try {
      const there = async (text: string) => (await findProxy(other.service.vault, text))?.proxy.id
      assert.equal(await there(key), id)
      const renewed = granted(await vault().post(`${at(id)}/key`, manager, {}))
      assert.equal(renewed.id, id)
      assert.notEqual(renewed.key, key)
      assert.equal(await find(key), undefined)
      assert.equal((await find(renewed.key))?.proxy.id, id)
      const deadline = performance.now() + 1_000
      while ((await there(key)) !== undefined && performance.now() < deadline) await nextIteration()
      assert.equal(await there(key), undefined)
      assert.equal(await there(renewed.key), id)
      assert.deepEqual(exposed(await find(renewed.key)), whole.configuration)
    } finally {
      await other.stop()
    }
  })

  test('a proxy that needs no API key has the rights of its application, until that is deleted (U18.3)', async () => {
    const { manager } = await start()
    const { id: application } = await newApplication(vault(), manager, { permissions: ['token:use'] })
    const lending = { ...plain, require_auth: false, application: { id: application } }
    const { id, key } = await create(manager, lending)
    assert.deepEqual(granted(await vault().get(at(id), manager)).application, { id: application })
    const found = await find(key)
    assert.deepEqual([found?.lent?.application.id, found?.lent?.actor.id], [application, application])
    assert.equal((await vault().get('/tokens', key)).status, 401, 'the key of a proxy is no API key')
    granted(await put(manager, id, { ...lending, require_auth: true }))
    assert.equal((await find(key))?.lent, undefined)
    granted(await put(manager, id, lending))
    assert.equal((await vault().delete(`/applications/${application}`, manager)).status, 204)
    assert.equal(await find(key), undefined)
  })

  test('whoever lends the rights of an application needs application:update (U18.3)', async () => {
    const { manager, clerk } = await start()
    const { id: application } = await newApplication(vault(), manager, { permissions: ['token:use'] })
    const lending = { ...plain, require_auth: false, application: { id: application } }
    assert.equal((await vault().post('/proxies', clerk, lending)).status, 403)
    const own = await create(clerk, plain)
    assert.equal((await vault().patch(at(own.id), clerk, { application: { id: application } })).status, 403)
    assert.equal((await put(clerk, own.id, { ...plain, application: { id: application } })).status, 403)
    const { id } = await create(manager, lending)
    for (const reply of [
      await vault().patch(at(id), clerk, { destination_url: 'https://evil.example/' }),
      await vault().patch(at(id), clerk, { request_transforms: [] }),
      await put(clerk, id, lending),
      await vault().post(`${at(id)}/key`, clerk, {}),
    ])
      assert.equal(reply.status, 403)
    assert.equal((await vault().patch(at(id), clerk, { name: 'a name lends nothing' })).status, 204)
    assert.equal((await vault().delete(at(id), clerk)).status, 204)
    const management = granted(await vault().get('/applications/key', manager)).id
    const odd = await vault().post('/proxies', manager, { ...lending, application: { id: management } })
    assert.deepEqual(Object.keys(odd.body.errors), ['application.id'])
  })

  test('a tenant has at most 20 proxies, also when many are made at once, and sees no other (U18.5, C31.9)', async () => {
    const { manager } = await start()
    const replies = await Promise.all(
      Array.from({ length: 22 }, () => vault().post('/proxies', manager, plain)),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [...Array(20).fill(201), 400, 400])
    const other = await start()
    const id = replies.find(({ status }) => status === 201)?.body.id
    for (const reply of [
      await vault().get(at(id), other.manager),
      await vault().patch(at(id), other.manager, { name: 'x' }),
      await vault().delete(at(id), other.manager),
      await vault().post(`${at(id)}/key`, other.manager, {}),
    ])
      assert.equal(reply.status, 404)
    assert.deepEqual(granted(await vault().get('/proxies', other.manager)).data, [])
  })

  test('a row that was changed in storage is not used (U18.1, C28.1)', async () => {
    const { manager } = await start()
    const [first, second] = [await create(manager), await create(manager, plain)]
    const rows = await storedRows(vault(), 'resources')
    const [one, two] = [first, second].map(({ id }) => rows.find(row => row.resource_id === id))
    assert.ok(one?.hash && two?.hash && one.sealed)
    const swap = 'UPDATE resources SET hash = ? WHERE resource_id = ?'
    await tamper(vault(), swap, Buffer.from('x'), first.id)
    await tamper(vault(), swap, one.hash, second.id)
    await assert.rejects(async () => find(first.key), /corrupt/)
    assert.equal(await find(second.key), undefined)
    assert.equal((await vault().get('/proxies', manager)).status, 500)
    await tamper(vault(), swap, two.hash, second.id)
    await tamper(vault(), swap, one.hash, first.id)
    assert.equal((await find(first.key))?.proxy.id, first.id)
  })

  test('the deletion of a tenant ends its proxies at once (C31.6, U18.6)', async () => {
    const { manager } = await start()
    const { key } = await create(manager)
    assert.ok(await find(key))
    assert.equal((await vault().delete('/tenants/self', manager)).status, 204)
    assert.equal(await find(key), undefined)
  })

  aboveStorage(() => {
    for (const { name, send, errors } of refused)
      test(`${name} is refused, whether created, replaced or patched`, async () => {
        const { manager } = await start()
        const { id } = await create(manager, plain)
        const replies = [
          await vault().post('/proxies', manager, { ...plain, ...send }),
          await put(manager, id, { ...plain, ...send }),
          await vault().patch(at(id), manager, send),
        ]
        for (const reply of replies) {
          assert.equal(reply.status, 400, reply.text)
          assert.deepEqual(Object.keys(reply.body.errors).sort(), [...errors].sort())
        }
        assert.deepEqual(
          { ...granted(await vault().get(at(id), manager)), id: 0, created_by: 0, created_at: 0 },
          { ...atFirst, id: 0, created_by: 0, created_at: 0 },
        )
      })

    test('each endpoint needs its own permission (U18.1)', async () => {
      const all = permissionsByType.management.filter(permission => permission.startsWith('proxy:'))
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        ...Object.fromEntries(
          all.map(lacked => [
            lacked,
            {
              type: 'management' as const,
              permissions: permissionsByType.management.filter(held => held !== lacked),
            },
          ]),
        ),
      })
      const { id } = await create(keys.manager)
      const needs: Record<string, () => Promise<TestReply>[]> = {
        'proxy:create': () => [vault().post('/proxies', lacking(), plain)],
        'proxy:read': () => [vault().get('/proxies', lacking()), vault().get(at(id), lacking())],
        'proxy:update': () => [
          put(lacking(), id, plain),
          vault().patch(at(id), lacking(), {}),
          vault().post(`${at(id)}/key`, lacking(), {}),
        ],
        'proxy:delete': () => [vault().delete(at(id), lacking())],
      }
      let permission = ''
      const lacking = (): string => (keys as Record<string, string>)[permission] ?? ''
      for (const [needed, send] of Object.entries(needs)) {
        permission = needed
        for (const { status, body } of await Promise.all(send())) {
          assert.equal(status, 403, needed)
          assert.match(body.detail, new RegExp(needed))
        }
      }
    })
  })
})
