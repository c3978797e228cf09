import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { problemsOf } from '../../src/contract/problems.ts'
import { type CatalogueEntry, catalogue, type ErrorCode, wireCode } from '../../src/domain/errors.ts'
import { limits } from '../../src/domain/limits.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { assertDetail, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { holdRequest } from '../rig/held-request.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { TestVault } from '../rig/test-vault.ts'

const text = { type: 'token', data: 'Sensitive Value' }

type World = { readonly vault: TestVault; readonly owner: string; readonly manager: string }
type Meet = (world: World) => Promise<TestReply | undefined>

/** Puts this function in the place of the store's for one request. */
const withStore = async <Name extends 'getToken' | 'commit'>(
  { vault }: World,
  name: Name,
  stub: TestVault['store'][Name],
  request: () => Promise<TestReply>,
): Promise<TestReply> => {
  const { [name]: real } = vault.store
  vault.store[name] = stub
  try {
    return await request()
  } finally {
    vault.store[name] = real
  }
}

const ofProxy = 'proxy.test.ts meets it: its form is another'

/** How each entry of the catalogue is met, or why none of these requests can meet it. */
const meetings: Readonly<Record<ErrorCode, { readonly code: string; readonly meet: Meet | string }>> = {
  invalidRequest: {
    code: 'invalid_request',
    meet: ({ vault, owner }) => vault.post('/tokens', owner, { type: 'token' }),
  },
  invalidHttp: {
    code: 'invalid_http',
    meet: async ({ vault }) => (await sendRaw(vault.baseUrl, 'GET /tokens HTTP/1.1\r\nBroken\r\n\r\n'))[0],
  },
  unauthorized: { code: 'unauthorized', meet: ({ vault }) => vault.send('GET', '/tokens') },
  forbidden: { code: 'forbidden', meet: ({ vault, manager }) => vault.get('/tokens', manager) },
  notFound: { code: 'not_found', meet: ({ vault, owner }) => vault.get('/tokens/nobody', owner) },
  noSuchRoute: { code: 'no_such_route', meet: ({ vault, owner }) => vault.get('/nowhere', owner) },
  methodNotAllowed: {
    code: 'method_not_allowed',
    meet: ({ vault, owner }) => vault.send('PUT', '/tokens', { key: owner }),
  },
  idTaken: {
    code: 'id_taken',
    meet: async ({ vault, owner }) => {
      await vault.create(owner, { ...text, id: 'taken' })
      return vault.post('/tokens', owner, { ...text, id: 'taken' })
    },
  },
  writeContention: {
    code: 'write_contention',
    meet: async world => {
      const { vault, owner } = world
      const { id } = await vault.create(owner, text)
      const lost = async () => ({ committed: false, conflict: 'tokenChanged' }) as const
      return withStore(world, 'commit', lost, () => vault.patch(`/tokens/${id}`, owner, { data: 'new' }))
    },
  },
  requestInFlight: {
    code: 'request_in_flight',
    meet: async ({ vault, owner }) => {
      const create = () =>
        vault.send('POST', '/tokens', { key: owner, body: text, headers: { 'svc-idempotency-key': 'slow' } })
      const gate = commitGate(vault)
      const first = create()
      await gate.waiting(1)
      const second = await create()
      gate.open()
      assert.equal((await first).status, 201)
      return second
    },
  },
  deliveryInFlight: {
    code: 'delivery_in_flight',
    meet: 'a delivery must hang; retry-delivery.test.ts meets it',
  },
  webhookDisabled: { code: 'webhook_disabled', meet: 'a webhook is needed; retry-delivery.test.ts meets it' },
  lastManagementKey: {
    code: 'last_management_key',
    meet: async ({ vault, manager }) => {
      const { body } = await vault.get('/applications/key', manager)
      return vault.delete(`/applications/${body.id}`, manager)
    },
  },
  cursorTooOld: { code: 'cursor_too_old', meet: 'retention has to cut; list-events.test.ts meets it' },
  idempotencyMismatch: {
    code: 'idempotency_mismatch',
    meet: async ({ vault, owner }) => {
      const create = (data: string) =>
        vault.send('POST', '/tokens', {
          key: owner,
          body: { ...text, data },
          headers: { 'svc-idempotency-key': 'again' },
        })
      assert.equal((await create('one')).status, 201)
      return create('other')
    },
  },
  rateLimited: {
    code: 'rate_limited',
    meet: async ({ vault, owner }) => {
      for (let sent = 0; sent < 1_000; sent++) {
        const reply = await vault.get('/permissions', owner)
        if (reply.status !== 200) return reply
      }
      return undefined
    },
  },
  bodyTooLarge: {
    code: 'body_too_large',
    meet: ({ vault, owner }) => vault.post('/tokens', owner, { ...text, data: 'x'.repeat(limits.bodyBytes) }),
  },
  unsupportedMediaType: {
    code: 'unsupported_media_type',
    meet: ({ vault, owner }) => vault.send('POST', '/tokens', { key: owner, raw: '{}', type: 'text/plain' }),
  },
  headersTooLarge: {
    code: 'headers_too_large',
    meet: async ({ vault }) => {
      const head = `GET /tokens HTTP/1.1\r\nHost: x\r\nX-Much: ${'x'.repeat(2 * limits.headBytes)}\r\n\r\n`
      return (await sendRaw(vault.baseUrl, head))[0]
    },
  },
  requestTimeout: {
    code: 'request_timeout',
    meet: 'takes a minute; bad-http.test.ts reports one to the server',
  },
  destinationInvalid: { code: 'destination_invalid', meet: ofProxy },
  noDestination: { code: 'no_destination', meet: ofProxy },
  expressionInvalid: { code: 'expression_invalid', meet: ofProxy },
  tokenNotFound: { code: 'token_not_found', meet: ofProxy },
  headerValueInvalid: { code: 'header_value_invalid', meet: ofProxy },
  permissionDenied: { code: 'permission_denied', meet: ofProxy },
  ephemeralProxyDisabled: { code: 'ephemeral_proxy_disabled', meet: ofProxy },
  destinationForbidden: { code: 'destination_forbidden', meet: ofProxy },
  destinationUnreachable: { code: 'destination_unreachable', meet: ofProxy },
  tlsFailed: { code: 'tls_failed', meet: ofProxy },
  answerInvalid: { code: 'answer_invalid', meet: ofProxy },
  responseTransformFailed: { code: 'response_transform_failed', meet: ofProxy },
  proxyBusy: { code: 'proxy_busy', meet: ofProxy },
  destinationTimeout: { code: 'destination_timeout', meet: ofProxy },
  internal: {
    code: 'internal',
    meet: world => {
      const broken = () => Promise.reject(new TypeError('a bug'))
      return withStore(world, 'getToken', broken, () => world.vault.get('/tokens/any', world.owner))
    },
  },
  overloaded: {
    code: 'overloaded',
    meet: async ({ vault, owner }) => {
      const body = { type: 'token', data: 'x'.repeat(1_000_000) }
      const arriving: Awaited<ReturnType<typeof holdRequest>>[] = []
      // As many megabytes as a key may hold on their way.
      while (arriving.length < 25)
        arriving.push(await holdRequest(vault, 'POST', '/tokens', { key: owner, body }))
      const refused = await vault.post('/tokens', owner, body)
      await Promise.all(arriving.map(({ finish }) => finish()))
      return refused
    },
  },
  unavailable: {
    code: 'unavailable',
    meet: world => {
      const gone = () => Promise.reject(new StoreUnavailableError('storage does not answer'))
      return withStore(world, 'getToken', gone, () => world.vault.get('/tokens/any', world.owner))
    },
  },
}

describe('the catalogue of errors', () => {
  let vault: TestVault
  let limited: TestVault
  before(async () => {
    vault = await TestVault.start({ settings: { idempotencyStrict: true } })
    limited = await TestVault.start({ settings: { rateLimit: { perSecond: 1, burst: 2 } } })
  })
  after(async () => {
    await vault.stop()
    await limited.stop()
  })

  for (const [key, { code, meet }] of Object.entries(meetings) as [ErrorCode, (typeof meetings)[ErrorCode]][])
    test(`${code} is what a program reads (C2.24)`, { skip: typeof meet === 'string' && meet }, async () => {
      if (typeof meet === 'string') return
      const met = key === 'rateLimited' ? limited : vault
      const { keys } = await met.tenant(ownerAndManager)
      const reply = await meet({ vault: met, ...keys })
      const { status, title, isTransient }: CatalogueEntry = catalogue[key]
      assert.deepEqual([reply?.status, reply?.body.code, reply?.body.title], [status, code, title])
      assert.equal(reply?.headers.has('retry-after'), isTransient === true)
    })

  test('every code is the snake_case of its key in the catalogue (C2.24)', () => {
    for (const [key, { code }] of Object.entries(meetings)) {
      assert.equal(wireCode(key as ErrorCode), code)
      assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    }
  })

  test('no detail repeats its title (C2.25)', () => {
    for (const entry of Object.values(catalogue)) assertDetail(entry)
  })

  test('the OpenAPI document names the codes of each refusal (C2.24, C36.3)', () => {
    const told = new Set(
      Object.values<Endpoint>(endpoints).flatMap(declared =>
        problemsOf(declared).flatMap(({ codes }) => codes),
      ),
    )
    // Not of one endpoint: they are met before a path is known, or at none that exists.
    const anywhere = [
      'invalid_http',
      'no_such_route',
      'method_not_allowed',
      'headers_too_large',
      'request_timeout',
    ]
    assert.deepEqual(
      [...new Set([...told, ...anywhere])].sort(),
      (Object.keys(catalogue) as ErrorCode[]).map(wireCode).sort(),
    )
  })
})

onSqliteAlone('what refusals tell', 'refused before storage is asked', vault => {
  let keys: Record<keyof typeof ownerAndManager, string>
  before(async () => {
    keys = (await vault().tenant(ownerAndManager)).keys
  })

  for (const [sent, near] of Object.entries({
    '/token': '/tokens',
    '/Tokens': '/tokens',
    '/token/4242424242424242': '/tokens/{id}',
    '/tokens/serach/x': undefined,
    '/tokenise': '/tokenize',
    '/v1/tokens': '/v2/tokens',
    '/v2/token/serch': '/v2/tokens/search',
    '/tenant': '/tenants/self',
    '/tenants/self/report/usage': '/tenants/self/reports/usage',
    '/application/4242424242424242/key/4242424242424242': '/applications/{id}/keys/{keyId}',
    '/healthz': '/health',
    '/openapi.yaml': undefined,
    '/4242424242424242': undefined,
    '//tokens': undefined,
  }))
    test(`${sent} leads nowhere, and ${near ?? 'nothing'} is suggested (C6.4, C2.5, C2.13)`, async () => {
      const reply = await vault().get(sent, keys.owner)
      const hint = near === undefined ? '' : ` (did you mean ${near}?)`
      assert.deepEqual(
        [reply.status, reply.body.code, reply.body.detail],
        [404, 'no_such_route', `There is no such path${hint}.`],
      )
      const keyless = await vault().send('GET', sent)
      assert.deepEqual([keyless.status, keyless.body.code], [401, 'unauthorized'])
      assert.ok(!keyless.text.includes('did you mean'))
    })

  test('GET / leads to /docs without a key (C36.4)', async () => {
    for (const method of ['GET', 'HEAD']) {
      const reply = await vault().send(method, '/')
      assert.deepEqual([reply.status, reply.headers.get('location')], [303, '/docs'])
    }
    const wrong = await vault().send('POST', '/', { key: keys.owner, body: {} })
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD'])
  })

  test('a replay is the first answer to the byte, with the newline at its end (C2.26, §4.11.3)', async () => {
    const create = () =>
      vault().send('POST', '/tokens', {
        key: keys.owner,
        body: text,
        headers: { 'svc-idempotency-key': 'twice' },
      })
    const [first, replay] = [await create(), await create()]
    assert.equal(replay.headers.get('idempotent-replayed'), 'true')
    assert.equal(replay.text, first.text)
    for (const { text, headers } of [first, replay, await vault().send('GET', '/openapi.json')]) {
      assert.match(text, /[^\n]\n$/)
      assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)))
    }
  })

  test('a 413 names the limit in bytes (C2.19)', async () => {
    const reply = await vault().post('/tokens', keys.owner, {
      type: 'token',
      data: 'x'.repeat(limits.bodyBytes),
    })
    assert.equal(reply.body.detail, `The body is over the limit of ${limits.bodyBytes} bytes.`)
  })

  for (const [sent, near] of Object.entries({
    sise: 'size',
    metdata: 'metadata',
    'metdata.color': 'metadata.<key>',
    'metadatas[color]': 'metadata.<key>',
    fingerprints: 'fingerprint',
  }))
    test(`the query parameter ${sent} is refused, and ${near} is suggested (C6.5)`, async () => {
      const reply = await vault().get(`/tokens?${sent}=x`, keys.owner)
      assert.deepEqual(reply.body.errors, {
        [sent]: [`is not a known query parameter (did you mean ${near}?)`],
      })
    })

  test('a field that cannot be searched is answered with those that can (C26.1)', async () => {
    const reply = await vault().post('/tokens/search', keys.owner, { query: 'typ:card' })
    assert.deepEqual(reply.body.errors.query, [
      'not one of the fields id, type, data, fingerprint, container, created_by, created_at, modified_by, modified_at, metadata.<key> (did you mean type?), at character 1',
    ])
  })

  test('all faults of a rule are told at once (C28.1)', async () => {
    const reply = await vault().post('/applications', keys.manager, {
      name: 'Wrong',
      type: 'private',
      rules: [
        {
          priority: -1,
          container: 'pci',
          transform: 'reveil',
          permissions: ['token:reed', 'tenant:read', 'token:read', 'token:read'],
          condition: 'x',
        },
        { priority: 1, container: '/a/', transform: 'mask', permissions: [] },
        { priority: 1, container: '/a b/', transform: 'mask', permissions: 'token:read' },
      ],
    })
    assert.deepEqual(Object.keys(reply.body.errors).sort(), [
      'rules[0].condition',
      'rules[0].container',
      'rules[0].permissions[0]',
      'rules[0].permissions[1]',
      'rules[0].permissions[3]',
      'rules[0].priority',
      'rules[0].transform',
      'rules[2].container',
      'rules[2].permissions',
      'rules[2].priority',
    ])
    assert.deepEqual(reply.body.errors['rules[0].permissions[0]'], [
      'is not a permission that a private application may hold (did you mean token:read?)',
    ])
  })
})
