import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openResult } from '../../src/crypto/data-seal.ts'
import type { TenantKeys } from '../../src/crypto/keys.ts'
import { VaultError } from '../../src/domain/errors.ts'
import type { JsonObject } from '../../src/domain/json/json.ts'
import { limits } from '../../src/domain/limits.ts'
import { pace } from '../../src/domain/pace.ts'
import { idempotency, Replayed } from '../../src/http/idempotency.ts'
import { createApiKey } from '../../src/operations/keys/create-api-key.ts'
import type { Caller, Idempotent } from '../../src/operations/vault/vault.ts'
import { requestHash } from '../../src/operations/writing/kept-results.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import type { Outcome } from '../../src/store/write-set.ts'
import { changesContent } from '../../src/store/write-set.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { callerOf } from '../rig/caller-of.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { secondNode } from '../rig/second-node.ts'
import { type StoredRow, storedRows, storedRowsOf } from '../rig/stored-rows.ts'
import { tamper } from '../rig/tamper.ts'
import type { Send, TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const card = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '987' },
}
const text = { type: 'token', data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' }
const proxy = { name: 'P', destination_url: 'https://api.example.com/', configuration: { a: 'b' } }
const webhook = { name: 'W', url: 'https://hooks.example.com/', events: ['token.*'] }
const hour = 3_600_000
const year = 365 * 24 * hour

let serial = 0
const newKey = (): string => `a-key-${++serial}`

type Request = { method: string; path: string } & Omit<Send, 'key' | 'headers'>
type Keys = Record<keyof typeof ownerAndManager, string>
type World = {
  keys: Keys
  token: string
  application: string
  apiKey: string
  tenantId: string
  proxy: string
  webhook: string
}

/** Whether the answer shows a key or secret, which no replay does. */
const showsOnce = ({ body }: TestReply): boolean => body?.key !== undefined || body?.secret !== undefined

const replayed = ({ headers }: TestReply): boolean => headers.get('idempotent-replayed') === 'true'

/** Every endpoint that changes something by POST, PUT or PATCH. */
const changes: readonly { name: string; who: keyof Keys; request: (world: World) => Request }[] = [
  { name: 'createToken', who: 'owner', request: () => ({ method: 'POST', path: '/tokens', body: card }) },
  {
    name: 'createToken with its own id',
    who: 'owner',
    request: () => ({ method: 'POST', path: '/tokens', body: { ...text, id: 'my own: id' } }),
  },
  {
    name: 'tokenize',
    who: 'owner',
    request: () => ({ method: 'POST', path: '/tokenize', body: { a: 'x', b: [card, null, 7] } }),
  },
  {
    name: 'tokenize of one value',
    who: 'owner',
    request: () => ({ method: 'POST', path: '/tokenize', body: 'x' }),
  },
  {
    name: 'tokenize of nothing',
    who: 'owner',
    request: () => ({ method: 'POST', path: '/tokenize', body: null }),
  },
  {
    name: 'updateToken',
    who: 'owner',
    request: ({ token }) => ({ method: 'PATCH', path: `/tokens/${token}`, body: { data: 'Another Value' } }),
  },
  {
    name: 'updateTenant',
    who: 'manager',
    request: () => ({ method: 'PUT', path: '/tenants/self', body: { name: 'x' } }),
  },
  {
    name: 'createApplication',
    who: 'manager',
    request: () => ({ method: 'POST', path: '/applications', body: { name: 'x', type: 'private' } }),
  },
  {
    name: 'updateApplication',
    who: 'manager',
    request: ({ application }) => ({
      method: 'PUT',
      path: `/applications/${application}`,
      body: { name: 'y' },
    }),
  },
  {
    name: 'createApiKey',
    who: 'manager',
    request: ({ application }) => ({ method: 'POST', path: `/applications/${application}/keys`, body: {} }),
  },
  {
    name: 'createApiKey without a body',
    who: 'manager',
    request: ({ application }) => ({ method: 'POST', path: `/applications/${application}/keys` }),
  },
  { name: 'createProxy', who: 'manager', request: () => ({ method: 'POST', path: '/proxies', body: proxy }) },
  {
    name: 'updateProxy',
    who: 'manager',
    request: world => ({ method: 'PUT', path: `/proxies/${world.proxy}`, body: proxy }),
  },
  {
    name: 'patchProxy',
    who: 'manager',
    request: world => ({ method: 'PATCH', path: `/proxies/${world.proxy}`, body: { timeout: 3 } }),
  },
  {
    name: 'createProxyKey',
    who: 'manager',
    request: world => ({ method: 'POST', path: `/proxies/${world.proxy}/key` }),
  },
  {
    name: 'createWebhook',
    who: 'manager',
    request: () => ({ method: 'POST', path: '/webhooks', body: webhook }),
  },
  {
    name: 'updateWebhook',
    who: 'manager',
    request: world => ({ method: 'PUT', path: `/webhooks/${world.webhook}`, body: webhook }),
  },
  {
    name: 'createWebhookSecret',
    who: 'manager',
    request: world => ({ method: 'POST', path: `/webhooks/${world.webhook}/secret`, body: {} }),
  },
]

/** Rows of everything of the tenant that a request can change, except what a read may change. */
const changeable = [
  'tenants',
  'applications',
  'api_keys',
  'resources',
  'tokens',
  'transients',
  'terms',
  'matches',
  'counters',
  'results',
]

onEveryEngine('idempotent retries', (vault, aboveStorage) => {
  const start = async (): Promise<World> => {
    const { tenantId, keys } = await vault().tenant(ownerAndManager)
    const { id: token } = granted(await vault().post('/tokens', keys.owner, text))
    const { id: application, key: apiKey } = await newApplication(vault(), keys.manager, {
      permissions: ['token:create'],
    })
    const made = async (path: string, body: unknown): Promise<string> =>
      granted(await vault().post(path, keys.manager, body)).id
    return {
      keys,
      token,
      application,
      apiKey,
      tenantId,
      proxy: await made('/proxies', proxy),
      webhook: await made('/webhooks', webhook),
    }
  }
  const send = (
    key: string,
    { method, path, ...rest }: Request,
    idempotencyKey?: string,
    on: Pick<TestVault, 'send'> = vault(),
  ): Promise<TestReply> =>
    on.send(method, path, {
      key,
      ...rest,
      ...(idempotencyKey !== undefined && { headers: { 'svc-idempotency-key': idempotencyKey } }),
    })
  const succeeded = async (pending: Promise<TestReply>): Promise<TestReply> => {
    const reply = await pending
    granted(reply)
    return reply
  }
  const create = (key: string, idempotencyKey?: string, body: unknown = text): Promise<TestReply> =>
    send(key, { method: 'POST', path: '/tokens', body }, idempotencyKey)
  const tenantNumberOf = async ({ tenantId }: World): Promise<number> => {
    const row = (await vault().store.listTenants()).find(({ id }) => id === tenantId)
    assert.ok(row)
    return row.tenant
  }
  const stateOf = async (world: World): Promise<StoredRow[][]> =>
    storedRowsOf(vault(), changeable, await tenantNumberOf(world))
  const tenantKeysOf = async (world: World): Promise<TenantKeys> =>
    vault().service.vault.keyring.of(await tenantNumberOf(world), world.tenantId)
  const count = async (keys: Keys): Promise<number> =>
    granted(await vault().get('/tokens', keys.owner)).pagination.total_items

  aboveStorage(() => {
    for (const { name, who, request } of changes)
      test(`${name} answers a retry as it answered the first request (§4.11.1, §4.11.2, §4.11.3, §1.10, C4.4)`, async () => {
        const world = await start()
        const asked = request(world)
        const key = newKey()
        const first = await send(world.keys[who], asked, key)
        granted(first)
        assert.equal(first.headers.get('idempotent-replayed'), null)
        const state = await stateOf(world)
        vault().now += hour
        for (let again = 0; again < 2; again++) {
          const retry = await send(world.keys[who], asked, key)
          assert.equal(replayed(retry), true)
          assert.equal(retry.status, first.status)
          assert.equal(retry.headers.get('location'), first.headers.get('location'))
          assert.equal(retry.headers.get('content-type'), first.headers.get('content-type'))
          assert.notEqual(retry.headers.get('svc-trace-id'), first.headers.get('svc-trace-id'))
          if (!showsOnce(first)) assert.deepEqual(retry.body, first.body)
        }
        assert.deepEqual(await stateOf(world), state, 'nothing happened twice')
      })
  })

  test('after a restart, every retry is answered as before (§4.11.2, §4.11.3, C33.5)', async () => {
    const answered: { name: string; retry: () => Promise<TestReply>; first: TestReply }[] = []
    for (const { name, who, request } of changes) {
      const world = await start()
      const [asked, key] = [request(world), newKey()]
      const ask = () => send(world.keys[who], asked, key)
      answered.push({ name, retry: ask, first: await succeeded(ask()) })
    }
    await vault().restart()
    for (const { name, retry, first } of answered) {
      const { headers, status, body } = await retry()
      assert.equal(headers.get('idempotent-replayed'), 'true', name)
      assert.equal(status, first.status, name)
      if (!showsOnce(first)) assert.deepEqual(body, first.body, name)
    }
  })

  test('without the header a retry repeats the operation (§4.11.9)', async () => {
    const { keys } = await start()
    const [one, two] = [granted(await create(keys.owner)), granted(await create(keys.owner))]
    assert.notEqual(one.id, two.id)
  })

  test('the scope of a key is the application, the method, the path and the key (C33.1)', async () => {
    const world = await start()
    const { keys, token, application } = world
    const key = newKey()
    const path = `/tokens/${token}`
    const other = granted(await create(keys.owner)).id
    const mayAll = { permissions: ['token:create', 'token:update'] }
    const second = await newApplication(vault(), keys.manager, mayAll)
    const requests: [string, Request, string][] = [
      [keys.owner, { method: 'POST', path: '/tokens', body: text }, key],
      [keys.owner, { method: 'POST', path: '/tokenize', body: text }, key],
      [keys.owner, { method: 'PATCH', path, body: {} }, key],
      [keys.owner, { method: 'PATCH', path: `/tokens/${other}`, body: {} }, key],
      [second.key, { method: 'POST', path: '/tokens', body: text }, key],
      [second.key, { method: 'PATCH', path, body: {} }, key],
      [keys.owner, { method: 'POST', path: '/tokens', body: text }, `${key}-2`],
      [keys.owner, { method: 'POST', path: '/tokens', body: text }, key.toUpperCase()],
      [keys.manager, { method: 'PUT', path: `/applications/${application}`, body: { name: 'x' } }, key],
      [keys.manager, { method: 'PUT', path: '/tenants/self', body: { name: 'x' } }, key],
      [keys.manager, { method: 'POST', path: `/applications/${application}/keys`, body: {} }, key],
    ]
    for (const request of requests) assert.equal(replayed(await succeeded(send(...request))), false)
    for (const request of requests) assert.equal(replayed(await succeeded(send(...request))), true)
    // No path can be changed by two methods, so only the hash itself shows that the method counts.
    const caller = { keys: await tenantKeysOf(world), application: { id: application } } as Caller
    const asked = { path, key, body: new Uint8Array(0) }
    assert.notDeepEqual(
      requestHash(caller, { ...asked, method: 'PUT' }),
      requestHash(caller, { ...asked, method: 'PATCH' }),
    )
    // Two keys of one application are one caller.
    const further = granted(await vault().post(`/applications/${second.id}/keys`, keys.manager, {})).key
    assert.equal(replayed(await create(further, key)), true)
  })

  aboveStorage(() => {
    test('a replay ignores the body, whatever it is (C33.7, §4.11.3)', async () => {
      const { keys } = await start()
      const key = newKey()
      const first = await create(keys.owner, key)
      for (const raw of ['{"type":"token","data":"other"}', 'no JSON', '', '{"unknown":1}']) {
        const retry = await send(
          keys.owner,
          { method: 'POST', path: '/tokens', raw, type: 'application/json' },
          key,
        )
        assert.equal(replayed(retry), true)
        assert.deepEqual(retry.body, first.body)
      }
      const asText = await send(
        keys.owner,
        { method: 'POST', path: '/tokens', raw: 'x', type: 'text/plain' },
        key,
      )
      assert.equal(asText.status, 415, 'but not its Content-Type, which comes before (C3)')
    })
  })

  const failures: readonly { name: string; request: (world: World) => Request; status: number }[] = [
    {
      name: 'a body that is not JSON',
      request: () => ({ method: 'POST', path: '/tokens', raw: '{' }),
      status: 400,
    },
    {
      name: 'an invalid body',
      request: () => ({ method: 'POST', path: '/tokens', body: { type: 'card', data: { number: '1' } } }),
      status: 400,
    },
    {
      name: 'a tokenize with a refused element',
      request: () => ({ method: 'POST', path: '/tokenize', body: ['x', { type: 'card', data: 1 }] }),
      status: 400,
    },
    {
      name: 'a patch of an unknown token',
      request: () => ({ method: 'PATCH', path: '/tokens/late', body: {} }),
      status: 404,
    },
    {
      name: 'a create with a taken id',
      request: ({ token }) => ({ method: 'POST', path: '/tokens', body: { ...text, id: token } }),
      status: 409,
    },
  ]
  aboveStorage(() => {
    for (const { name, request, status } of failures)
      test(`a failure is not kept, and the next request with the key is new: ${name} (§4.11.4)`, async () => {
        const world = await start()
        const key = newKey()
        const asked = {
          type: request(world).method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
          ...request(world),
        }
        const state = await stateOf(world)
        for (let again = 0; again < 2; again++) {
          const failed = await send(world.keys.owner, asked, key)
          assert.equal(failed.status, status)
          assert.equal(failed.headers.get('idempotent-replayed'), null)
        }
        assert.deepEqual(await stateOf(world), state)
        if (asked.path === '/tokens/late')
          granted(await create(world.keys.owner, undefined, { ...text, id: 'late' }))
        const { raw: _raw, ...rest } = asked
        const body =
          asked.method === 'PATCH' ? { metadata: { a: 'b' } } : asked.path === '/tokens' ? text : ['x']
        const next = await send(world.keys.owner, { ...rest, body }, key)
        granted(next)
        assert.equal(replayed(next), false)
        assert.equal(replayed(await send(world.keys.owner, asked, key)), true, 'and then it is kept')
      })
  })

  test('while the first request is under way, another with its key gets 409 at once (§4.11.5, §7.2, C33.3, C2.18)', async () => {
    const { keys, token } = await start()
    const key = newKey()
    const gate = commitGate(vault())
    const first = create(keys.owner, key)
    await gate.waiting(1)
    for (let again = 0; again < 3; again++) {
      const second = await create(keys.owner, key)
      assert.equal(second.status, 409)
      assert.equal(second.headers.get('retry-after'), '1')
      assert.equal(second.body.detail, 'A request with this idempotency key is still being processed.')
    }
    const other = send(keys.owner, { method: 'PATCH', path: `/tokens/${token}`, body: {} }, key)
    await gate.waiting(2)
    gate.open()
    assert.equal((await other).status, 200, 'another path is another request')
    const { id } = granted(await first)
    const third = await create(keys.owner, key)
    assert.deepEqual([replayed(third), third.body.id], [true, id])
  })

  test('a key in flight in one tenant does not hold up the same key in another (C33.4, §1.3)', async () => {
    const [{ keys: ours }, { keys: theirs }] = [await start(), await start()]
    const key = newKey()
    const gate = commitGate(vault())
    const both = [create(ours.owner, key), create(theirs.owner, key)]
    await gate.waiting(2)
    gate.open()
    for (const reply of await Promise.all(both)) assert.equal(reply.status, 201)
  })

  test('a retry gets the answer that never reached the client (§4.11.3, C33.5)', async () => {
    const { keys } = await start()
    const key = newKey()
    const before = await count(keys)
    const gate = commitGate(vault())
    const client = new AbortController()
    const lost = fetch(`${vault().baseUrl}/tokens`, {
      method: 'POST',
      headers: { 'svc-api-key': keys.owner, 'content-type': 'application/json', 'svc-idempotency-key': key },
      body: JSON.stringify(text),
      signal: client.signal,
    })
    await gate.waiting(1)
    client.abort()
    await assert.rejects(lost)
    gate.open()
    let retry = await create(keys.owner, key)
    while (retry.status === 409) retry = await create(keys.owner, key)
    assert.equal(replayed(retry), true)
    assert.equal(retry.status, 201)
    assert.equal(await count(keys), before + 1)
  })

  test('a first request that fails leaves its key free (§4.11.4, C33.3)', async () => {
    const { keys } = await start()
    const key = newKey()
    const before = await count(keys)
    const { commit } = vault().store
    vault().store.commit = () => Promise.reject(new StoreUnavailableError('down'))
    assert.equal((await create(keys.owner, key)).status, 503)
    vault().store.commit = commit
    const next = await create(keys.owner, key)
    granted(next)
    assert.equal(replayed(next), false)
    assert.equal(await count(keys), before + 1)
  })

  test('of 64 requests at once, one runs and the others are told to wait or get its answer (C33.3, C33.5)', async () => {
    const { keys } = await start()
    const before = await count(keys)
    for (const [path, body] of [
      ['/tokens', text],
      ['/tokenize', [text]],
    ] as const) {
      const key = newKey()
      const replies = await Promise.all(
        Array.from({ length: 64 }, () => send(keys.owner, { method: 'POST', path, body }, key)),
      )
      const done = replies.filter(({ status }) => status < 300)
      const ids = new Set(done.map(({ body }) => (path === '/tokens' ? body.id : body[0].id)))
      assert.equal(ids.size, 1)
      assert.equal(done.filter(reply => !replayed(reply)).length, 1, 'one has run')
      for (const reply of replies.filter(({ status }) => status >= 300)) {
        assert.equal(reply.status, 409)
        assert.equal(reply.headers.get('retry-after'), '1')
      }
    }
    assert.equal(await count(keys), before + 2)
  })

  test('retries sent at once all get the answer (§4.11.3, C33.5)', async () => {
    const { keys } = await start()
    const key = newKey()
    const request = { method: 'POST', path: '/tokens', body: text }
    const first = await send(keys.owner, request, key)
    granted(first)
    const replies = await Promise.all(Array.from({ length: 16 }, () => send(keys.owner, request, key)))
    for (const reply of replies) assert.deepEqual([replayed(reply), reply.body], [true, first.body])
  })

  aboveStorage(() => {
    test('GET, DELETE, search and explain ignore the header, whatever it holds (§4.11.6, C33.11)', async () => {
      const { keys, token, application } = await start()
      const key = newKey()
      const reads: [string, Request][] = [
        [keys.owner, { method: 'GET', path: `/tokens/${token}` }],
        [keys.owner, { method: 'GET', path: '/tokens' }],
        [keys.owner, { method: 'POST', path: '/tokens/search', body: { query: 'type:token' } }],
        [keys.manager, { method: 'GET', path: '/applications' }],
        [
          keys.manager,
          {
            method: 'POST',
            path: `/applications/${application}/explain`,
            body: { permission: 'token:read', type: 'card' },
          },
        ],
      ]
      const results = (await storedRows(vault(), 'results')).length
      for (const [who, request] of reads)
        for (const idempotencyKey of [key, key, 'two words', 'x'.repeat(300)]) {
          const reply = await send(who, request, idempotencyKey)
          granted(reply)
          assert.equal(replayed(reply), false)
        }
      const deletion: Request = { method: 'DELETE', path: `/tokens/${token}` }
      assert.equal((await send(keys.owner, deletion, key)).status, 204)
      assert.equal((await send(keys.owner, deletion, key)).status, 404, 'the second one finds nothing')
      const revoke: Request = { method: 'DELETE', path: `/applications/${application}` }
      assert.equal((await send(keys.manager, revoke, key)).status, 204)
      assert.equal((await send(keys.manager, revoke, key)).status, 404)
      assert.equal((await storedRows(vault(), 'results')).length, results)
    })

    test('a key is 1 to 255 visible ASCII characters (C8.12)', async () => {
      const { keys } = await start()
      const before = await count(keys)
      const good = [
        'x',
        '~'.repeat(255),
        '!"#$%&\'()*+,-./:;<=>?@[]^_`{|}~',
        '550e8400-e29b-41d4-a716-446655440000',
      ]
      for (const key of good) granted(await create(keys.owner, key))
      for (const key of ['', 'x'.repeat(256), 'two words', 'a\tb', 'schl\u00fcssel', 'a, b']) {
        const reply = await create(keys.owner, key)
        assert.equal(reply.status, 400, JSON.stringify(key))
        assert.deepEqual(Object.keys(reply.body.errors), ['idempotency-key'])
        if (key.length > 3) assertAbsent({ answer: reply.text }, [key])
      }
      assert.equal(await count(keys), before + good.length)
    })
  })

  test('a result is kept for 24 hours to the millisecond, then the key is new (§4.11.7, §8.6, C33.10)', async () => {
    const { keys } = await start()
    const key = newKey()
    const first = granted(await create(keys.owner, key)).id
    vault().now += 24 * hour - 1
    assert.equal((await create(keys.owner, key)).body.id, first)
    vault().now += 1
    const second = await create(keys.owner, key)
    assert.equal(replayed(second), false)
    assert.notEqual(second.body.id, first)
    vault().now += 24 * hour - 1
    assert.equal((await create(keys.owner, key)).body.id, second.body.id, 'a new 24 hours')
  })

  test('a result is deleted from storage after 24 hours, and not before (§4.11.7, C33.10)', async () => {
    const { keys } = await start()
    granted(await create(keys.owner, newKey()))
    vault().now += hour
    granted(await create(keys.owner, newKey()))
    vault().now += 23 * hour - 1
    await vault().service.jobTimer.runAll()
    const left = (await storedRows(vault(), 'results')).length
    vault().now += 1
    await vault().service.jobTimer.runAll()
    assert.equal((await storedRows(vault(), 'results')).length, left - 1)
    vault().now += hour
    await vault().service.jobTimer.runAll()
    assert.equal((await storedRows(vault(), 'results')).length, 0)
  })

  test('a result from a time when the clock was ahead is dropped once the clock is right (§4.11.7, C33.10)', async () => {
    const { keys, tenantId } = await start()
    const tenant = await vault().tenantNumber(tenantId)
    const kept = async (): Promise<number> =>
      (await storedRows(vault(), 'results')).filter(row => row.tenant === tenant).length
    const key = newKey()
    vault().now += year
    const first = granted(await create(keys.owner, key)).id
    const unasked = granted(await create(keys.owner, newKey())).id
    vault().now -= year
    const second = await create(keys.owner, key)
    assert.equal(replayed(second), false)
    assert.ok(![first, unasked].includes(granted(second).id))
    vault().now += 24 * hour - 1
    assert.equal((await create(keys.owner, key)).body.id, second.body.id, 'its own 24 hours')
    await vault().service.jobTimer.runAll()
    assert.equal(await kept(), 1, 'the one that nobody asked for is swept')
    vault().now += 1
    await vault().service.jobTimer.runAll()
    assert.equal(await kept(), 0)
  })

  test('a clock that is behind by no more than clocks may differ forgets no result (§4.11.3, C33.10)', async () => {
    const { keys } = await start()
    const key = newKey()
    const first = granted(await create(keys.owner, key)).id
    vault().now -= pace.clockSkewMs
    await vault().service.jobTimer.runAll()
    assert.equal((await create(keys.owner, key)).body.id, first)
    vault().now -= 1
    assert.notEqual(granted(await create(keys.owner, key)).id, first)
    vault().now += 1 + pace.clockSkewMs
  })

  test('of two requests on two nodes that find a result from a wrong clock, one is carried out (C33.4)', async () => {
    const { keys } = await start()
    const key = newKey()
    vault().now += year
    granted(await create(keys.owner, key))
    vault().now -= year
    const node = await secondNode(vault())
    try {
      const before = await count(keys)
      const send = { key: keys.owner, body: text, headers: { 'svc-idempotency-key': key } }
      const { dropResult } = node.store
      const [found, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      node.store.dropResult = async (...which) => {
        found.resolve()
        await goOn.promise
        await dropResult(...which)
      }
      const late = node.send('POST', '/tokens', send)
      await Promise.race([found.promise, late])
      const first = granted(await create(keys.owner, key)).id
      goOn.resolve()
      assert.equal((await late).status, 409)
      assert.equal((await create(keys.owner, key)).body.id, first)
      assert.equal(await count(keys), before + 1)
    } finally {
      await node.stop()
    }
  })

  aboveStorage(() => {
    test('a revoked or expired API key gets no replay (C33.2)', async () => {
      const { keys, application, apiKey } = await start()
      const key = newKey()
      granted(await create(apiKey, key))
      const [{ id }] = granted(await vault().get(`/applications/${application}/keys`, keys.manager))
      const expires_at = new Date(vault().now + hour).toISOString()
      const soon = granted(
        await vault().post(`/applications/${application}/keys`, keys.manager, { expires_at }),
      ).key
      granted(await vault().delete(`/applications/${application}/keys/${id}`, keys.manager))
      assert.equal((await create(apiKey, key)).status, 401)
      assert.equal(replayed(await create(soon, key)), true, 'another key of the application does')
      vault().now += hour
      assert.equal((await create(soon, key)).status, 401)
    })

    test('a caller whose permission was taken away gets no replay (C33.2)', async () => {
      const { keys, application, apiKey } = await start()
      const key = newKey()
      granted(await create(apiKey, key))
      const body = { name: 'x', permissions: ['token:update'] }
      granted(await vault().send('PUT', `/applications/${application}`, { key: keys.manager, body }))
      const refused = await create(apiKey, key)
      assert.equal(refused.status, 403)
      assert.equal(refused.headers.get('idempotent-replayed'), null)
    })
  })

  test('kept answers are sealed and hold no data, no cvc and no key (C33.8, C33.9, C12.2)', async () => {
    const world = await start()
    const { keys, token, application, tenantId } = world
    const made: string[] = []
    const requests: [string, Request][] = [
      [keys.owner, { method: 'POST', path: '/tokens', body: card }],
      [keys.owner, { method: 'POST', path: '/tokenize', body: { deep: [card, text, 'a plain secret'] } }],
      [keys.owner, { method: 'PATCH', path: `/tokens/${token}`, body: { data: 'Another Secret' } }],
      [keys.manager, { method: 'POST', path: '/applications', body: { name: 'x', type: 'management' } }],
      [keys.manager, { method: 'POST', path: `/applications/${application}/keys`, body: {} }],
    ]
    for (const [who, request] of requests) {
      const { key } = granted(await send(who, request, newKey()))
      if (key !== undefined) made.push(key)
    }
    assert.equal(made.length, 2)
    const tenant = await tenantNumberOf(world)
    const tenantKeys = await tenantKeysOf(world)
    const rows = (await storedRows(vault(), 'results')).filter(row => row.tenant === tenant)
    assert.equal(rows.length, requests.length)
    const secrets = [
      card.data.number,
      '"cvc"',
      '"987"',
      text.data,
      'a plain secret',
      'Another Secret',
      ...made,
    ]
    const plain = rows.map(row => {
      const columns = { hash: row.hash as Uint8Array, expiresAt: Number(row.expires_at) }
      return openResult(tenantKeys, { ...columns, sealed: row.sealed as Uint8Array })
    })
    assertAbsent({ plain: Buffer.concat(plain) }, secrets)
    assert.ok(
      plain.some(bytes => bytes.includes('XXXXXXXXXXXX4242')),
      'the answers are there',
    )
    const sealed = Buffer.concat(rows.map(row => row.sealed as Uint8Array))
    assertAbsent({ sealed }, [...secrets, 'XXXXXXXXXXXX4242', token, tenantId, 'answer'])
  })

  for (const { name, who, request } of changes.filter(({ name }) =>
    /^create(Application|ApiKey)$/.test(name),
  ))
    test(`the replay of ${name} has everything but the key, and says so (C33.9, C29.6)`, async () => {
      const world = await start()
      const key = newKey()
      const first = await send(world.keys[who], request(world), key)
      const { key: shown, ...rest } = granted(first)
      assert.ok(shown.startsWith('key_'))
      const retry = await send(world.keys[who], request(world), key)
      const { _extras, ...replay } = retry.body
      assert.deepEqual(replay, rest)
      assert.match(_extras.key, /shown once/)
      assertAbsent({ answer: retry.text }, [shown])
    })

  aboveStorage(() => {
    test('when storage fails, there is neither a change nor a result (C33.5, C2.23)', async () => {
      const world = await start()
      for (const { name, who, request } of changes) {
        const asked = request(world)
        const key = newKey()
        const state = await stateOf(world)
        const { commit } = vault().store
        vault().store.commit = () => Promise.reject(new StoreUnavailableError('down'))
        const failed = await send(world.keys[who], asked, key)
        assert.deepEqual([failed.status, failed.headers.get('retry-after')], [503, '1'], name)
        vault().store.commit = commit
        assert.deepEqual(await stateOf(world), state, name)
        const next = await send(world.keys[who], asked, key)
        granted(next)
        assert.equal(replayed(next), false, name)
      }
    })

    test('the change and its result are one write set (C33.5)', async () => {
      const world = await start()
      for (const { name, who, request } of changes) {
        const { commit } = vault().store
        const kinds: string[][] = []
        vault().store.commit = set => {
          // Records of other requests may be stored meanwhile.
          if (changesContent(set)) kinds.push([...set.guarded, ...set.effects].map(({ kind }) => kind))
          return commit(set)
        }
        granted(await send(world.keys[who], request(world), newKey()))
        vault().store.commit = commit
        assert.equal(kinds.length, 1, name)
        assert.ok(kinds[0]?.includes('keepResult'), name)
        if (name !== 'tokenize of nothing') assert.ok((kinds[0]?.length ?? 0) > 1, name)
      }
    })
  })

  test('when another request wins at storage, the loser writes nothing and is told to wait (C33.4, C33.5)', async context => {
    const node = await secondNode(vault())
    context.after(() => node.stop())
    for (const change of changes) {
      const world = await start()
      const asked = change.request(world)
      const key = newKey()
      // Both have looked for a kept result and found none; then the other node commits first.
      const gate = commitGate(vault())
      const slow = send(world.keys[change.who], asked, key)
      await gate.waiting(1)
      const fast = await send(world.keys[change.who], asked, key, node)
      granted(fast)
      // Writes what it still has to write, such as which keys were used.
      await node.service.jobTimer.runAll()
      const state = await stateOf(world)
      gate.open()
      const loser = await slow
      assert.equal(loser.status, 409, `${change.name}: ${loser.text}`)
      assert.equal(loser.headers.get('retry-after'), '1', change.name)
      assert.match(loser.body.detail, /idempotency key/, change.name)
      assert.deepEqual(await stateOf(world), state, change.name)
      const retry = await send(world.keys[change.who], asked, key)
      assert.equal(replayed(retry), true)
      if (!showsOnce(fast)) assert.deepEqual(retry.body, fast.body)
    }
  })

  test('an answer kept by one node is replayed by the other (C33.4)', async () => {
    const { keys } = await start()
    const key = newKey()
    const node = await secondNode(vault())
    const request: Request = { method: 'POST', path: '/tokens', body: text }
    const first = await send(keys.owner, request, key, node)
    const retry = await send(keys.owner, request, key)
    assert.equal(replayed(retry), true)
    assert.deepEqual(retry.body, first.body)
    await node.stop()
  })

  test('a process that dies in the middle leaves no claim behind (C33.6)', async () => {
    const { keys } = await start()
    const key = newKey()
    const before = await count(keys)
    const { commit } = vault().store
    const reached = Promise.withResolvers<void>()
    const dying = Promise.withResolvers<Outcome>()
    vault().store.commit = () => {
      reached.resolve()
      return dying.promise
    }
    const first = create(keys.owner, key)
    await reached.promise
    // Another process starts on what this one left in storage.
    const node = await secondNode(vault())
    const next = await send(keys.owner, { method: 'POST', path: '/tokens', body: text }, key, node)
    granted(next)
    assert.equal(replayed(next), false)
    await node.stop()
    vault().store.commit = commit
    dying.reject(new StoreUnavailableError('dead'))
    assert.equal((await first).status, 503)
    assert.equal(await count(keys), before + 1)
  })

  test('a storage conflict resolved by a second try keeps one result (C33.5)', async () => {
    const { keys, token } = await start()
    const key = newKey()
    const gate = commitGate(vault())
    const path = `/tokens/${token}`
    const both = [
      send(keys.owner, { method: 'PATCH', path, body: { metadata: { a: '1' } } }, key),
      vault().patch(path, keys.owner, { metadata: { b: '2' } }),
    ]
    await gate.waiting(2)
    gate.open()
    for (const reply of await Promise.all(both)) granted(reply)
    const { metadata } = granted(await vault().get(path, keys.owner))
    assert.deepEqual(metadata, { a: '1', b: '2' })
    const retry = await send(keys.owner, { method: 'PATCH', path, body: {} }, key)
    assert.equal(replayed(retry), true)
    assert.deepEqual(
      retry.body.metadata,
      (await both[0])?.body.metadata,
      'the answer of the try that was stored',
    )
  })

  aboveStorage(() => {
    test('a deduplicated create is kept too and replays its Location (C33.1, C15.5, C1.2)', async () => {
      const { keys } = await start()
      const key = newKey()
      const body = { ...text, deduplicate_token: true }
      const first = await create(keys.owner, key, body)
      assert.equal(granted(first)._extras.deduplicated, true)
      granted(await vault().delete(`/tokens/${first.body.id}`, keys.owner))
      const retry = await create(keys.owner, key, body)
      assert.equal(replayed(retry), true)
      assert.deepEqual(retry.body, first.body)
      assert.equal(retry.headers.get('location'), `/tokens/${first.body.id}`)
    })

    test('a result whose sealed part was replaced in storage is refused, not replayed (C33.8)', async () => {
      const { keys } = await start()
      const [one, two] = [newKey(), newKey()]
      granted(await create(keys.owner, one))
      granted(await create(keys.owner, two))
      const [first, second] = (await storedRows(vault(), 'results')).slice(-2)
      assert.ok(first && second)
      await tamper(
        vault(),
        'UPDATE results SET sealed = ? WHERE hash = ?',
        first.sealed as Uint8Array,
        second.hash as Uint8Array,
      )
      const statuses = [(await create(keys.owner, one)).status, (await create(keys.owner, two)).status]
      assert.deepEqual(statuses.sort(), [201, 500])
    })

    for (const strict of [false, true])
      test(`a request whose key is taken and given back while it asks for it is ${strict ? 'compared with' : 'answered like'} the first (C33.3, §4.11.3, C33.7)`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const { vault: whole } = vault().service
        const caller = await callerOf(whole, keys.manager)
        const run = (idempotent?: Idempotent) =>
          createApiKey(whole, caller, caller.application.id, {}, idempotent)
        // All but one: the application was born with a key.
        for (let made = 2; made < limits.liveKeysPerApplication; made++) await run()

        const [looked, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const worker = (take: () => Promise<boolean>) =>
          idempotency(whole, { headerPrefix: 'svc', strict, inFlight: { take, release: async () => {} } })
        const asked = { method: 'POST', path: '/applications/keys', key: newKey(), body: Buffer.from('{}') }
        const slow = worker(async () => {
          looked.resolve()
          await done.promise
          return true
        })
        const second = slow.once(caller, { ...asked, body: Buffer.from('{"a":1}') }, run)
        await looked.promise
        const first = await worker(async () => true).once(caller, asked, run)
        done.resolve()
        // The first has taken the last place, so the second is refused before it comes to a commit.
        assert.ok(!(first instanceof Replayed))
        if (strict) await assert.rejects(second, { code: 'idempotencyMismatch' })
        else {
          const answered = await second
          assert.ok(answered instanceof Replayed)
          assert.deepEqual((answered.answer as JsonObject).id, (first as JsonObject).id)
        }
        await assert.rejects(run(), { code: 'invalidRequest' })
      })
  })

  test('a refused request stays refused, although storage cannot say by then whether another has its answer (C33.3, C2.18)', async t => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { vault: whole } = vault().service
    const caller = await callerOf(whole, keys.owner)
    const asked = { method: 'POST', path: '/tokens', key: newKey(), body: undefined }
    const refused = idempotency(whole, { headerPrefix: 'svc', strict: false }).once(
      caller,
      asked,
      async () => {
        t.mock.method(whole.store, 'getResult', () => Promise.reject(new StoreUnavailableError('gone')))
        throw new VaultError('idTaken')
      },
    )
    await assert.rejects(refused, { code: 'idTaken' })
  })

  test('a key is free before its request is answered, also where that takes a message to another process (C33.3)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { vault: whole } = vault().service
    const caller = await callerOf(whole, keys.owner)
    const events: string[] = []
    const { once } = idempotency(whole, {
      headerPrefix: 'svc',
      strict: false,
      inFlight: {
        take: async () => true,
        release: async () => {
          await new Promise(resolve => setImmediate(resolve))
          events.push('released')
        },
      },
    })
    const asked = { method: 'POST', path: '/tokens', key: newKey(), body: undefined }
    for (const run of [async () => ({}), () => Promise.reject(new VaultError('notFound'))])
      await once(caller, asked, run)
        .catch(() => {})
        .then(() => events.push('answered'))
    assert.deepEqual(events, ['released', 'answered', 'released', 'answered'])
  })
})

onEveryEngine(
  'strict idempotent retries',
  vault => {
    test('another body for the same key is 422, the same bytes are a replay (C33.7, C2.21)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const post = (raw: string) =>
        vault().send('POST', '/tokens', {
          key: keys.owner,
          raw,
          type: 'application/json',
          headers: { 'svc-idempotency-key': 'strictly' },
        })
      const first = await post('{"type":"token","data":"a"}')
      assert.equal(first.status, 201)
      const same = await post('{"type":"token","data":"a"}')
      assert.deepEqual([same.status, replayed(same), same.body], [201, true, first.body])
      for (const raw of ['{"type":"token","data":"b"}', '{"data":"a","type":"token"}', '', 'x']) {
        const other = await post(raw)
        assert.equal(other.status, 422)
        assert.equal(other.body.title, 'Unprocessable Content')
        assert.equal(other.headers.get('idempotent-replayed'), null)
      }
      assert.equal(granted(await vault().get('/tokens', keys.owner)).pagination.total_items, 1)
      assert.equal((await post('{"type":"token","data":"a"}')).status, 201, 'the result is still there')
    })

    test('a request without a body is replayed only to another without one (C33.7)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const { id } = await newApplication(vault(), keys.manager, {})
      const headers = { 'svc-idempotency-key': 'no-body' }
      const path = `/applications/${id}/keys`
      granted(await vault().send('POST', path, { key: keys.manager, headers }))
      assert.equal(replayed(await vault().send('POST', path, { key: keys.manager, headers })), true)
      const other = await vault().send('POST', path, { key: keys.manager, headers, body: {} })
      assert.equal(other.status, 422)
    })
  },
  { idempotencyStrict: true },
)
