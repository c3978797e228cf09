import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { newUuid } from '../../src/crypto/uuid.ts'
import { entityTypes } from '../../src/domain/acts/act.ts'
import type { LogRecord } from '../../src/domain/acts/block.ts'
import { deleteApiKey } from '../../src/operations/keys/delete-api-key.ts'
import { asOperator } from '../../src/operations/vault/operator.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { recordsOfOperator, recordsOfTenant } from '../rig/log-records.ts'
import { putFailedDelivery, putWebhook, unreachable } from '../rig/put-webhook.ts'
import { webhookFor } from '../rig/receivers.ts'
import { storedRowsOf } from '../rig/stored-rows.ts'
import type { Send, TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

type World = Awaited<ReturnType<typeof newWorld>>

const canaries = ['4111111111111111', 'canary-in-metadata', 'canary-in-name', 'canary-in-data']

const card = {
  type: 'card',
  data: { number: '4111111111111111', expiration_month: 1, expiration_year: 2030 },
}

const proxy = {
  name: 'canary-in-name',
  destination_url: 'https://api.example.com/canary-in-data',
  configuration: { a: 'canary-in-data' },
  request_transforms: [{ type: 'append_header', name: 'canary', value: 'canary-in-data' }],
}
const loggedProxy = {
  destination: 'https://api.example.com',
  require_auth: true,
  echo_guard: true,
  request_transforms: ['append_header'],
  response_transforms: [],
}
const ledger = {
  name: 'canary-in-name',
  url: 'https://hooks.example.com/canary-in-data',
  events: ['token.*'],
}
const loggedWebhook = { destination: 'https://hooks.example.com', events: ['token.*'], status: 'enabled' }

const newWorld = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant({
    ...ownerAndManager,
    masked: { permissions: ['token:read', 'token:search', 'token:create'] },
    browser: { type: 'public', permissions: ['token:create'] },
    nobody: { permissions: ['token:delete'], rules: [] },
    elsewhere: {
      rules: [
        {
          priority: 3,
          container: '/general/',
          transform: 'mask',
          permissions: ['token:read', 'token:update'],
        },
      ],
    },
  })
  const first = await vault.post('/tokens', keys.owner, card)
  const token = first.body.id as string
  const created = first.headers.get('svc-audit') ?? ''
  const application = (await vault.get('/applications/key', keys.masked)).body.id as string
  const made = await vault.post(`/applications/${application}/keys`, keys.manager, {})
  const proxyId = (await vault.post('/proxies', keys.manager, proxy)).body.id as string
  const webhookId = (await vault.post('/webhooks', keys.manager, ledger)).body.id as string
  const webhook = newUuid()
  await putWebhook(vault, tenantId, webhookFor(unreachable, webhook))
  const delivery = await putFailedDelivery(vault, tenantId, webhook)
  return {
    vault,
    tenantId,
    keys,
    token,
    created,
    webhook,
    delivery,
    proxyId,
    webhookId,
    application,
    keyId: made.body.id as string,
  }
}

/** Several writers may have made records, so the new ones need not be the last. */
const newOnes = (before: readonly LogRecord[], after: readonly LogRecord[]): LogRecord[] =>
  after.filter(({ id }) => !before.some(known => known.id === id))

type Case = {
  readonly name: string
  readonly who: keyof World['keys'] | 'stranger'
  readonly ask: (world: World) => readonly [method: string, path: string, send?: Omit<Send, 'key'>]
  readonly status: number
  /** What the record must say; a function is asked. */
  readonly record: Readonly<Record<string, unknown>> | ((world: World, record: LogRecord) => void)
}

const touched = (world: World, permission: string, transform: string | undefined, rule?: number) => [
  {
    id: world.token,
    type: 'card',
    containers: ['/pci/high/'],
    permission,
    ...(transform !== undefined && { transform }),
    ...(rule !== undefined && { rule }),
  },
]

const cases: readonly Case[] = [
  {
    name: 'a token is created',
    who: 'owner',
    ask: () => ['POST', '/tokens', { body: { ...card, metadata: { note: 'canary-in-metadata' } } }],
    status: 201,
    record: (_, { tokens }) => {
      const [token] = tokens as Record<string, unknown>[]
      assert.deepEqual([token?.permission, token?.transform, token?.rule], ['token:create', 'mask', 1])
    },
  },
  {
    name: 'a payload becomes tokens',
    who: 'masked',
    ask: () => ['POST', '/tokenize', { body: ['canary-in-data', 2] }],
    status: 200,
    record: (_, { tokens }) => assert.equal((tokens as unknown[]).length, 2),
  },
  {
    name: 'a token is revealed',
    who: 'owner',
    ask: ({ token }) => ['GET', `/tokens/${token}`],
    status: 200,
    record: (world, { tokens, entity_id }) => {
      assert.deepEqual(tokens, touched(world, 'token:read', 'reveal', 1))
      assert.equal(entity_id, world.token)
    },
  },
  {
    name: 'a token is shown under its mask',
    who: 'masked',
    ask: ({ token }) => ['GET', `/tokens/${token}`],
    status: 200,
    record: (world, { tokens }) => assert.deepEqual(tokens, touched(world, 'token:read', 'mask')),
  },
  {
    name: 'a rule hides a token',
    who: 'elsewhere',
    ask: ({ token }) => ['GET', `/tokens/${token}`],
    status: 404,
    record: (world, { result, entity_id, tokens }) =>
      assert.deepEqual([result, entity_id, tokens], ['denied', world.token, undefined]),
  },
  {
    name: 'a token that is none is asked for by a card number',
    who: 'owner',
    ask: () => ['GET', '/tokens/4111111111111111'],
    status: 404,
    record: (_, { result, entity_id }) => assert.deepEqual([result, entity_id], ['failed', undefined]),
  },
  {
    name: 'a token is patched',
    who: 'owner',
    ask: ({ token }) => [
      'PATCH',
      `/tokens/${token}`,
      { body: { metadata: { secret_key: 'canary-in-metadata' }, expires_at: null } },
    ],
    status: 200,
    record: (world, { fields, tokens }) => {
      assert.deepEqual(fields, ['metadata.*', 'expires_at'])
      assert.deepEqual(tokens, touched(world, 'token:update', 'mask', 1))
    },
  },
  {
    name: 'a patch is refused for its shape',
    who: 'owner',
    ask: ({ token }) => ['PATCH', `/tokens/${token}`, { body: { type: 'canary-in-data' } }],
    status: 400,
    record: { result: 'failed', tokens: undefined },
  },
  {
    name: 'a payload gets the values of tokens',
    who: 'masked',
    ask: ({ token }) => ['POST', '/detokenize', { body: [`{{ ${token} }}`] }],
    status: 200,
    record: (world, { tokens, entity_id }) => {
      assert.deepEqual(tokens, touched(world, 'token:read', 'mask'))
      assert.equal(entity_id, undefined)
    },
  },
  {
    name: 'a payload names a token that a rule hides',
    who: 'elsewhere',
    ask: ({ token }) => ['POST', '/detokenize', { body: `{{ ${token} }}` }],
    status: 400,
    record: (world, { result, entity_id, tokens }) =>
      assert.deepEqual([result, entity_id, tokens], ['failed', world.token, undefined]),
  },
  {
    name: 'tokens are listed',
    who: 'masked',
    ask: () => ['GET', '/tokens?type=card'],
    status: 200,
    record: (world, { tokens, entity_id }) => {
      assert.deepEqual(tokens, touched(world, 'token:read', 'mask'))
      assert.equal(entity_id, undefined)
    },
  },
  {
    name: 'tokens are listed by cursor',
    who: 'owner',
    ask: () => ['GET', '/v2/tokens?size=1'],
    status: 200,
    record: {},
  },
  {
    name: 'tokens are searched',
    who: 'owner',
    ask: () => ['POST', '/tokens/search', { body: { query: 'type:card' } }],
    status: 200,
    record: (world, { tokens }) => assert.deepEqual(tokens, touched(world, 'token:read', 'reveal', 1)),
  },
  {
    name: 'a search is bad',
    who: 'owner',
    ask: () => ['POST', '/tokens/search', { body: { query: 'data:' } }],
    status: 400,
    record: { result: 'failed' },
  },
  {
    name: 'tokens are searched by cursor',
    who: 'owner',
    ask: () => ['POST', '/v2/tokens/search', { body: { query: 'type:card' } }],
    status: 200,
    record: {},
  },
  {
    name: 'a permission is held nowhere',
    who: 'browser',
    ask: () => ['GET', '/tokens'],
    status: 403,
    record: { result: 'denied' },
  },
  {
    name: 'a token is deleted',
    who: 'owner',
    ask: ({ token }) => ['DELETE', `/tokens/${token}`],
    status: 204,
    record: (world, { tokens }) => assert.deepEqual(tokens, touched(world, 'token:delete', 'reveal', 1)),
  },
  {
    name: 'the tenant is read',
    who: 'manager',
    ask: () => ['GET', '/tenants/self'],
    status: 200,
    record: { entity_type: 'tenant' },
  },
  {
    name: 'settings are changed',
    who: 'manager',
    ask: () => [
      'PUT',
      '/tenants/self',
      { body: { name: 'canary-in-name', settings: { deduplicate_tokens: 'true' } } },
    ],
    status: 200,
    record: (_, { before, after, fields }) => {
      assert.deepEqual(fields, ['name', 'settings'])
      assert.deepEqual(
        [before, after].map(side => (side as Record<string, unknown>).deduplicate_tokens),
        [false, true],
      )
    },
  },
  {
    name: 'usage is read',
    who: 'manager',
    ask: () => ['GET', '/tenants/self/reports/usage'],
    status: 200,
    record: { entity_type: 'report' },
  },
  {
    name: 'the index report is read',
    who: 'manager',
    ask: () => ['GET', '/tenants/self/reports/indexes'],
    status: 200,
    record: { entity_type: 'report' },
  },
  {
    name: 'a proxy is created',
    who: 'manager',
    ask: () => ['POST', '/proxies', { body: proxy }],
    status: 201,
    record: { entity_type: 'proxy', operation: 'createProxy', after: loggedProxy },
  },
  {
    name: 'a proxy is created with faults',
    who: 'manager',
    ask: () => ['POST', '/proxies', { body: { ...proxy, destination_url: 'http://canary-in-name' } }],
    status: 400,
    record: { entity_type: 'proxy', result: 'failed' },
  },
  {
    name: 'proxies are listed',
    who: 'manager',
    ask: () => ['GET', '/proxies'],
    status: 200,
    record: { entity_type: 'proxy' },
  },
  {
    name: 'a proxy is read',
    who: 'manager',
    ask: ({ proxyId }) => ['GET', `/proxies/${proxyId}`],
    status: 200,
    record: ({ proxyId }, { entity_id }) => assert.equal(entity_id, proxyId),
  },
  {
    name: 'a proxy is read that there is not',
    who: 'manager',
    ask: () => ['GET', '/proxies/4111111111111111'],
    status: 404,
    record: { entity_type: 'proxy', result: 'failed', entity_id: undefined },
  },
  {
    name: 'a proxy is replaced',
    who: 'manager',
    ask: ({ proxyId }) => ['PUT', `/proxies/${proxyId}`, { body: { ...proxy, methods: ['POST'] } }],
    status: 200,
    record: ({ proxyId }, { entity_id, fields, before, after }) => {
      assert.equal(entity_id, proxyId)
      assert.ok((fields as string[]).includes('methods'))
      assert.deepEqual([before, after], [loggedProxy, { ...loggedProxy, methods: ['POST'] }])
    },
  },
  {
    name: 'a proxy is changed',
    who: 'manager',
    ask: ({ proxyId }) => ['PATCH', `/proxies/${proxyId}`, { body: { echo_guard: false } }],
    status: 204,
    record: ({ proxyId }, { entity_id, fields, after }) => {
      assert.deepEqual([entity_id, fields], [proxyId, ['echo_guard']])
      assert.deepEqual(after, { ...loggedProxy, echo_guard: false })
    },
  },
  {
    name: 'a proxy gets a new key',
    who: 'manager',
    ask: ({ proxyId }) => ['POST', `/proxies/${proxyId}/key`, { body: {} }],
    status: 201,
    record: ({ proxyId }, { entity_id }) => assert.equal(entity_id, proxyId),
  },
  {
    name: 'a proxy is deleted',
    who: 'manager',
    ask: ({ proxyId }) => ['DELETE', `/proxies/${proxyId}`],
    status: 204,
    record: ({ proxyId }, { entity_id, before }) =>
      assert.deepEqual([entity_id, before], [proxyId, loggedProxy]),
  },
  {
    name: 'a proxy is deleted without the right to',
    who: 'owner',
    ask: ({ proxyId }) => ['DELETE', `/proxies/${proxyId}`],
    status: 403,
    record: { entity_type: 'proxy', result: 'denied' },
  },
  {
    name: 'a webhook is created',
    who: 'manager',
    ask: () => ['POST', '/webhooks', { body: ledger }],
    status: 201,
    record: { entity_type: 'webhook', operation: 'createWebhook', after: loggedWebhook },
  },
  {
    name: 'a webhook is created with faults',
    who: 'manager',
    ask: () => ['POST', '/webhooks', { body: { ...ledger, events: ['canary-in-name'] } }],
    status: 400,
    record: { entity_type: 'webhook', result: 'failed' },
  },
  {
    name: 'webhooks are listed',
    who: 'manager',
    ask: () => ['GET', '/webhooks'],
    status: 200,
    record: { entity_type: 'webhook' },
  },
  {
    name: 'the types of events are listed',
    who: 'manager',
    ask: () => ['GET', '/webhooks/event-types'],
    status: 200,
    record: { entity_type: 'webhook' },
  },
  {
    name: 'a webhook is read',
    who: 'manager',
    ask: ({ webhookId }) => ['GET', `/webhooks/${webhookId}`],
    status: 200,
    record: ({ webhookId }, { entity_id }) => assert.equal(entity_id, webhookId),
  },
  {
    name: 'a webhook is replaced',
    who: 'manager',
    ask: ({ webhookId }) => ['PUT', `/webhooks/${webhookId}`, { body: { ...ledger, status: 'disabled' } }],
    status: 200,
    record: ({ webhookId }, { entity_id, before, after }) => {
      assert.equal(entity_id, webhookId)
      assert.deepEqual([before, after], [loggedWebhook, { ...loggedWebhook, status: 'disabled' }])
    },
  },
  {
    name: 'a webhook gets a new secret',
    who: 'manager',
    ask: ({ webhookId }) => ['POST', `/webhooks/${webhookId}/secret`, { body: {} }],
    status: 201,
    record: ({ webhookId }, { entity_id }) => assert.equal(entity_id, webhookId),
  },
  {
    name: 'a webhook is deleted',
    who: 'manager',
    ask: ({ webhookId }) => ['DELETE', `/webhooks/${webhookId}`],
    status: 204,
    record: ({ webhookId }, { entity_id, before }) =>
      assert.deepEqual([entity_id, before], [webhookId, loggedWebhook]),
  },
  {
    name: 'the log is read',
    who: 'manager',
    ask: () => ['GET', '/logs?token_id=4111111111111111&operation=canary-in-data'],
    status: 200,
    record: { entity_type: 'log', query: { fields: ['operation', 'token_id'], operators: [] } },
  },
  {
    name: 'the log is read with a bad filter',
    who: 'manager',
    ask: () => ['GET', '/logs?result=canary-in-data'],
    status: 400,
    record: { entity_type: 'log', result: 'failed' },
  },
  {
    name: 'the log is read without the right to',
    who: 'owner',
    ask: () => ['GET', '/logs'],
    status: 403,
    record: { entity_type: 'log', result: 'denied' },
  },
  {
    name: 'what the log is about is listed',
    who: 'manager',
    ask: () => ['GET', '/logs/entity-types'],
    status: 200,
    record: { entity_type: 'log' },
  },
  {
    name: 'the log is exported',
    who: 'manager',
    ask: () => ['GET', '/logs/export'],
    status: 200,
    record: { entity_type: 'log' },
  },
  {
    name: 'the log is exported from a bad cursor',
    who: 'manager',
    ask: () => ['GET', '/logs/export?start=4111111111111111'],
    status: 400,
    record: { entity_type: 'log', result: 'failed' },
  },
  {
    name: 'the feed is read',
    who: 'manager',
    ask: () => ['GET', '/events?type=token.*'],
    status: 200,
    record: { entity_type: 'log', query: { fields: ['type'], operators: [] } },
  },
  {
    name: 'the feed is read from a bad cursor',
    who: 'manager',
    ask: () => ['GET', '/events?start=4111111111111111'],
    status: 400,
    record: { entity_type: 'log', result: 'failed' },
  },
  {
    name: 'an event is read',
    who: 'manager',
    ask: ({ created }) => ['GET', `/events/evt_${created}`],
    status: 200,
    record: (world, { entity_type, entity_id }) =>
      assert.deepEqual([entity_type, entity_id], ['log', world.created]),
  },
  {
    name: 'an event that is none is read',
    who: 'manager',
    ask: () => ['GET', '/events/evt_4111111111111111'],
    status: 404,
    record: { entity_type: 'log', result: 'failed', entity_id: undefined },
  },
  {
    name: 'a webhook is tested',
    who: 'manager',
    ask: ({ webhook }) => ['POST', `/webhooks/${webhook}/test`],
    status: 200,
    record: (world, { entity_type, entity_id }) =>
      assert.deepEqual([entity_type, entity_id], ['webhook', world.webhook]),
  },
  {
    name: 'failed deliveries are listed',
    who: 'manager',
    ask: ({ webhook }) => ['GET', `/webhooks/${webhook}/deliveries`],
    status: 200,
    record: (world, { entity_type, entity_id }) =>
      assert.deepEqual([entity_type, entity_id], ['webhook', world.webhook]),
  },
  {
    name: 'a delivery is to be retried',
    who: 'manager',
    ask: ({ webhook, delivery }) => ['POST', `/webhooks/${webhook}/deliveries/${delivery}/retry`],
    status: 202,
    record: (world, { entity_type, entity_id }) =>
      assert.deepEqual([entity_type, entity_id], ['webhook', world.webhook]),
  },
  {
    name: 'a delivery that is none is to be retried',
    who: 'manager',
    ask: ({ webhook }) => ['POST', `/webhooks/${webhook}/deliveries/4111111111111111/retry`],
    status: 404,
    record: { result: 'failed', entity_id: undefined },
  },
  {
    name: 'applications are listed',
    who: 'manager',
    ask: () => ['GET', '/applications'],
    status: 200,
    record: { entity_type: 'application' },
  },
  {
    name: 'an application is made',
    who: 'manager',
    ask: () => [
      'POST',
      '/applications',
      { body: { name: 'canary-in-name', type: 'private', permissions: ['token:read'] } },
    ],
    status: 201,
    record: (_, { after, entity_id }) => {
      assert.deepEqual(after, { type: 'private', permissions: ['token:read'] })
      assert.ok(entity_id)
    },
  },
  {
    name: 'the own application is read',
    who: 'masked',
    ask: () => ['GET', '/applications/key'],
    status: 200,
    record: (world, { entity_id }) => assert.equal(entity_id, world.application),
  },
  {
    name: 'an application is read',
    who: 'manager',
    ask: ({ application }) => ['GET', `/applications/${application}`],
    status: 200,
    record: (world, { entity_id }) => assert.equal(entity_id, world.application),
  },
  {
    name: 'an application that is none is read',
    who: 'manager',
    ask: () => ['GET', '/applications/canary-in-name'],
    status: 404,
    record: { result: 'failed', entity_id: undefined },
  },
  {
    name: 'rules are changed',
    who: 'manager',
    ask: ({ application }) => [
      'PUT',
      `/applications/${application}`,
      { body: { name: 'canary-in-name', permissions: ['token:read'] } },
    ],
    status: 200,
    record: (_, { before, after }) =>
      assert.deepEqual(
        [before, after].map(side => ((side as Record<string, unknown>).permissions as string[]).length),
        [3, 1],
      ),
  },
  {
    name: 'access is explained',
    who: 'manager',
    ask: ({ application }) => [
      'POST',
      `/applications/${application}/explain`,
      { body: { permission: 'token:read', containers: ['/a/'] } },
    ],
    status: 200,
    record: {},
  },
  {
    name: 'permissions are listed',
    who: 'masked',
    ask: () => ['GET', '/permissions'],
    status: 200,
    record: {},
  },
  {
    name: 'keys are listed',
    who: 'manager',
    ask: ({ application }) => ['GET', `/applications/${application}/keys`],
    status: 200,
    record: { entity_type: 'key' },
  },
  {
    name: 'a key is made',
    who: 'manager',
    ask: ({ application }) => ['POST', `/applications/${application}/keys`, { body: {} }],
    status: 201,
    record: (world, { after }) =>
      assert.equal((after as Record<string, unknown>).application_id, world.application),
  },
  {
    name: 'a key is read',
    who: 'manager',
    ask: ({ application, keyId }) => ['GET', `/applications/${application}/keys/${keyId}`],
    status: 200,
    record: (world, { entity_id }) => assert.equal(entity_id, world.keyId),
  },
  {
    name: 'a key is revoked',
    who: 'manager',
    ask: ({ application, keyId }) => ['DELETE', `/applications/${application}/keys/${keyId}`],
    status: 204,
    record: (world, { entity_id }) => assert.equal(entity_id, world.keyId),
  },
  {
    name: 'an application is deleted',
    who: 'manager',
    ask: ({ application }) => ['DELETE', `/applications/${application}`],
    status: 204,
    record: (world, { before, entity_id }) => {
      assert.equal((before as Record<string, unknown>).type, 'private')
      assert.equal(entity_id, world.application)
    },
  },
  {
    name: 'the tenant is deleted, and its log outlives it',
    who: 'manager',
    ask: () => ['DELETE', '/tenants/self'],
    status: 204,
    record: (world, { entity_id }) => assert.equal(entity_id, world.tenantId),
  },
]

onOneEngine('acts by HTTP', 'what is recorded is decided above storage', vault => {
  for (const { name, who, ask, status, record: expected } of cases)
    test(`when ${name}, there is exactly one record of it, and no value in it (L1.1, L2.3, L2.6, L2.8, L2.11, L4.6)`, async () => {
      const world = await newWorld(vault())
      const before = await recordsOfTenant(vault().service.vault, world.tenantId)
      const [method, path, send] = ask(world)
      const reply = await vault().send(method, path, { ...send, key: world.keys[who as keyof World['keys']] })
      assert.equal(reply.status, status, reply.text)
      const records = newOnes(before, await recordsOfTenant(vault().service.vault, world.tenantId))
      assert.equal(records.length, 1, JSON.stringify(records))
      const [record] = records
      assert.ok(record)
      assert.equal(record.status, status)
      assert.equal(record.trace_id, reply.headers.get('svc-trace-id'))
      assert.equal((record.actor as Record<string, unknown>).type, 'application')
      assert.deepEqual(Object.keys(record.source as object), ['ip'])
      const endpoint = Object.values(endpoints).find(({ id }) => id === record.operation)
      assert.equal(record.route, endpoint?.path)
      if (status < 300) assert.equal(record.result, 'allowed')
      if (status === 400) assert.equal(record.result, 'failed')
      if (status === 403) assert.equal(record.result, 'denied')
      if (typeof expected === 'function') expected(world, record)
      else
        for (const [member, value] of Object.entries(expected))
          assert.deepEqual(record[member], value, member)
      assertAbsent({ records: JSON.stringify(records) }, [...canaries, ...Object.values(world.keys)])
      const isReceipt = record.id === reply.headers.get('svc-audit')
      const mustBe =
        status < 300 &&
        (method !== 'GET' || name.includes('revealed')) &&
        !/search|explain|detokenize|test$/.test(path)
      if (mustBe) assert.ok(isReceipt, 'the answer carries the id of its record')
    })

  test('each endpoint that is an act is met by one of these requests (L1.1)', () => {
    // The proxy's act has two records: proxy.test.ts.
    const acts = Object.values<Endpoint>(endpoints).filter(
      ({ logs, passesThrough }) => logs !== 'no act' && passesThrough !== true,
    )
    const asked = (method: string, path: string): boolean =>
      cases.some(({ ask, status }) => {
        if (status >= 300) return false
        const [by, at] = ask({
          token: 'x',
          application: 'x',
          keyId: 'x',
          webhook: 'x',
          delivery: 'x',
          proxyId: 'x',
          webhookId: 'x',
        } as World)
        const pattern = new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}([?]|$)`)
        return by === method && pattern.test(at)
      })
    const missing = acts.filter(({ method, path }) => !asked(method, path))
    assert.deepEqual(
      missing.map(({ id }) => id),
      [],
    )
  })

  test('public callers get no receipt (L4.6)', async () => {
    const { keys } = await newWorld(vault())
    const reply = await vault().post('/tokens', keys.browser, card)
    assert.equal(reply.status, 201)
    assert.equal(reply.headers.get('svc-audit'), null)
  })

  test('a replayed answer is an act, which names what the first one named (L1.5)', async () => {
    const world = await newWorld(vault())
    const create = () =>
      vault().send('POST', '/tokens', {
        key: world.keys.owner,
        body: card,
        headers: { 'svc-idempotency-key': 'once' },
      })
    const [first, again] = [await create(), await create()]
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    const records = (await recordsOfTenant(vault().service.vault, world.tenantId))
      .filter(({ operation }) => operation === 'createToken')
      .slice(-2)
    assert.deepEqual(records[0]?.tokens, records[1]?.tokens)
    assert.deepEqual(
      records.map(({ replayed }) => replayed),
      [undefined, true],
    )
    assert.deepEqual(
      records.map(record => record.entity_id),
      [first.body.id, first.body.id],
    )
  })

  test('an unknown key is recorded in the log of the operator, and refusals of a second are one record (L1.4, L1.9, L2.3)', async () => {
    const { service } = vault()
    const before = await recordsOfOperator(service.vault)
    for (let times = 0; times < 5; times++) assert.equal((await vault().send('GET', '/tokens')).status, 401)
    const records = newOnes(before, await recordsOfOperator(service.vault))
    assert.deepEqual(
      records.map(({ operation, result, status, count, actor }) => [operation, result, status, count, actor]),
      [['listTokens', 'denied', 401, 5, { type: 'anonymous' }]],
    )
  })

  test('refusals that name no token are merged, those that name one are not (L1.8)', async () => {
    const world = await newWorld(vault())
    const before = await recordsOfTenant(vault().service.vault, world.tenantId)
    const traces: (string | null)[] = []
    for (let times = 0; times < 4; times++) {
      traces.push((await vault().get('/tokens', world.keys.browser)).headers.get('svc-trace-id'))
      await vault().get(`/tokens/${world.token}`, world.keys.elsewhere)
    }
    const records = newOnes(before, await recordsOfTenant(vault().service.vault, world.tenantId))
    assert.deepEqual(
      records.map(({ status, count }) => [status, count]).sort(),
      [...Array.from({ length: 4 }, () => [404, undefined]), [403, 4]].sort(),
    )
    assert.equal(records.find(({ count }) => count === 4)?.trace_id, traces[0])
  })

  test('probes, documentation and paths that lead nowhere are no acts (L1.5)', async () => {
    const world = await newWorld(vault())
    const { service } = vault()
    const before = [
      (await recordsOfTenant(service.vault, world.tenantId)).length,
      (await recordsOfOperator(service.vault)).length,
    ]
    for (const path of ['/health', '/ready', '/openapi.json', '/docs', '/nowhere'])
      await vault().get(path, world.keys.owner)
    await vault().send('GET', '/nowhere')
    assert.deepEqual(
      [
        (await recordsOfTenant(service.vault, world.tenantId)).length,
        (await recordsOfOperator(service.vault)).length,
      ],
      before,
    )
  })

  test('a command refused for a key or a tenant that there is not is an act that failed (L1.5)', async () => {
    const { tenantId, application } = await newWorld(vault())
    const inner = vault().service.vault
    const revoke = (tenant: string) =>
      asOperator(inner, tenant, { operation: 'key revoke', entityType: 'key' }, operator =>
        deleteApiKey(inner, operator, application, newUuid()),
      )
    const told = (records: readonly LogRecord[]) =>
      records
        .filter(({ operation }) => operation === 'key revoke')
        .map(({ result, actor }) => [result, actor])
    await assert.rejects(revoke(tenantId), { code: 'notFound' })
    await assert.rejects(revoke(newUuid()), { code: 'notFound' })
    const failed = [['failed', { type: 'operator' }]]
    assert.deepEqual(told(await recordsOfTenant(inner, tenantId)), failed)
    assert.deepEqual(told(await recordsOfOperator(inner)), failed)
  })

  test('what the vault keeps for itself is no act: when keys and tokens were used, counters, reports, leases and kept answers (L1.2)', async () => {
    const world = await newWorld(vault())
    const { service } = vault()
    await vault().send('POST', '/tokens', {
      key: world.keys.owner,
      body: { ...card, search_indexes: ['{{ data.number | last4 }}'] },
      headers: { 'svc-idempotency-key': 'once' },
    })
    // Another month, in which the token is active again.
    vault().now += 31 * 86_400_000
    await vault().get(`/tokens/${world.token}`, world.keys.owner)
    const logs = async () => [
      await recordsOfTenant(service.vault, world.tenantId),
      await recordsOfOperator(service.vault),
    ]
    const tables = ['tokens', 'api_keys', 'leases']
    const rows = async () => (await storedRowsOf(vault(), tables)).map(found => JSON.stringify(found))
    const [before, kept] = [await logs(), await rows()]
    vault().now += 60_000
    await service.jobTimer.runAll()
    await service.vault.activity.flush()
    assert.deepEqual(await logs(), before)
    const now = await rows()
    assert.deepEqual(
      tables.filter((_, at) => now[at] !== kept[at]),
      tables,
      'there was something to keep',
    )
  })

  test('each endpoint declares how it is logged, and one that does not declare it does not compile (L2.12)', () => {
    for (const { id, logs } of Object.values<Endpoint>(endpoints))
      assert.ok(logs === 'no act' || entityTypes.includes(logs.entityType), id)
    const { logs, ...undeclared }: Endpoint = endpoints.getTenant
    const declared: Endpoint = { ...undeclared, logs }
    // @ts-expect-error: the type check fails as soon as an endpoint may leave it out.
    const silent: Endpoint = undeclared
    assert.deepEqual([declared.id, silent.id], ['getTenant', 'getTenant'])
  })

  test('an act that touches more than 500 tokens has further records (L2.10)', async () => {
    const world = await newWorld(vault())
    const before = await recordsOfTenant(vault().service.vault, world.tenantId)
    const values = Array.from({ length: 1_000 }, (_, at) => `value ${at}`)
    const reply = await vault().post('/tokenize', world.keys.owner, values)
    assert.equal(reply.status, 200)
    const records = newOnes(before, await recordsOfTenant(vault().service.vault, world.tenantId))
    assert.deepEqual(
      records.map(({ part, tokens }) => [part, (tokens as unknown[]).length]),
      [
        [1, 500],
        [2, 500],
      ],
    )
    assert.equal(new Set(records.map(({ id }) => id)).size, 2)
  })
})
