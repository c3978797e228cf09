import assert from 'node:assert/strict'
import pg from 'pg'
import { endpoints } from '../../src/contract/endpoints.ts'
import { permissionsByType } from '../../src/domain/access/permissions.ts'
import type { Statement } from '../../src/store/postgres/connection.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

export type Sent = {
  readonly text: string
  readonly values: readonly unknown[]
  /** The endpoints that sent it. */
  readonly by: Set<string>
}

/** Every statement that the vault sends to storage while each endpoint is called. */
export const statementsOfRequests = async (vault: TestVault): Promise<Sent[]> => {
  const { keys } = await vault.tenant({
    owner,
    manager: { type: 'management', permissions: permissionsByType.management },
    reader: { rules: [{ priority: 1, container: '/pci/', transform: 'mask', permissions: ['token:read'] }] },
  })
  const statements = new Map<string, Sent>()
  let endpoint = ''
  const query = pg.Client.prototype.query as (this: pg.Client, ...args: never[]) => unknown
  pg.Client.prototype.query = function (this: pg.Client, ...args: never[]) {
    const [{ text, name, values = [] }] = args as unknown as [Statement]
    if (typeof text === 'string') {
      const sent = statements.get(text) ?? { text, values, by: new Set() }
      statements.set(text, sent)
      sent.by.add(name === 'grants-epoch' ? 'beside requests' : endpoint)
    }
    return query.apply(this, args)
  } as never
  try {
    await askEverything(vault, keys, next => {
      endpoint = next
    })
  } finally {
    pg.Client.prototype.query = query as never
  }
  return [...statements.values()]
}

type Keys = { readonly owner: string; readonly manager: string; readonly reader: string }
type Request = {
  readonly endpoint: keyof typeof endpoints
  /** The caller, if not the one whose permission it is. */
  readonly as?: 'reader'
  readonly path?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }

/** Each endpoint at least once, and again for each different way through storage. */
const requests: readonly Request[] = [
  { endpoint: 'tokenize', body: ['a', { type: 'token', data: 'b', metadata: { k: 'v' } }] },
  { endpoint: 'createToken', body: { id: 'one', type: 'card', data: card, metadata: { k: 'v' } } },
  { endpoint: 'createToken', body: { id: 'one', type: 'token', data: 'taken' } },
  { endpoint: 'createToken', body: { type: 'token', data: 'twice', deduplicate_token: true } },
  { endpoint: 'createToken', body: { type: 'token', data: 'twice', deduplicate_token: true } },
  { endpoint: 'createToken', body: { type: 'token', data: 1 }, headers: { 'svc-idempotency-key': 'key' } },
  { endpoint: 'createToken', body: { type: 'token', data: 1 }, headers: { 'svc-idempotency-key': 'key' } },
  { endpoint: 'listTokens', path: '/tokens?size=1' },
  { endpoint: 'listTokens', path: '/tokens?size=1', as: 'reader' },
  { endpoint: 'listTokens', path: '/tokens?id=one&id=two&type=card' },
  { endpoint: 'listTokens', path: '/tokens?type=card&type=token&metadata.k=v&container=/pci/&size=2&page=2' },
  { endpoint: 'listTokensByCursor', path: '/v2/tokens?size=2' },
  { endpoint: 'listTokensByCursor', path: '/v2/tokens?size=2&start=:next' },
  {
    endpoint: 'searchTokens',
    body: { query: '(type:card AND NOT metadata.k:w) OR (metadata.k:v AND modified_at:[2020-01-01 TO *])' },
  },
  { endpoint: 'searchTokensByCursor', body: { query: 'type:card OR metadata.k:v', size: 1 } },
  { endpoint: 'getToken', path: '/tokens/one' },
  { endpoint: 'detokenize', body: ['{{ one }}', '{{ none }} '], path: '/detokenize?missing=null' },
  { endpoint: 'updateToken', path: '/tokens/one', body: { metadata: { k: 'w' }, data: { cvc: '321' } } },
  { endpoint: 'deleteToken', path: '/tokens/one' },
  { endpoint: 'getTenant' },
  { endpoint: 'updateTenant', body: { name: 'Another' } },
  { endpoint: 'getUsage' },
  { endpoint: 'getIndexReport' },
  { endpoint: 'listApplications' },
  { endpoint: 'createApplication', body: { name: 'An application', type: 'private', permissions: [] } },
  { endpoint: 'getOwnApplication' },
  { endpoint: 'getApplication' },
  { endpoint: 'updateApplication', body: { name: 'Renamed', permissions: ['token:read'] } },
  { endpoint: 'listApiKeys' },
  { endpoint: 'createApiKey', body: {} },
  { endpoint: 'getApiKey' },
  { endpoint: 'deleteApiKey' },
  { endpoint: 'explainAccess', body: { permission: 'token:read', containers: ['/general/'] } },
  { endpoint: 'listPermissions' },
  { endpoint: 'listEvents' },
  { endpoint: 'getEvent', path: '/events/:event' },
  { endpoint: 'createProxy', body: { name: 'P', destination_url: 'https://api.example.com/' } },
  { endpoint: 'listProxies' },
  { endpoint: 'getProxy', path: '/proxies/:resource' },
  {
    endpoint: 'updateProxy',
    path: '/proxies/:resource',
    body: { name: 'P', destination_url: 'https://api.example.com/' },
  },
  { endpoint: 'patchProxy', path: '/proxies/:resource', body: { timeout: 3 } },
  { endpoint: 'createProxyKey', path: '/proxies/:resource/key', body: {} },
  { endpoint: 'deleteProxy', path: '/proxies/:resource' },
  {
    endpoint: 'createWebhook',
    body: { name: 'W', url: 'https://hooks.example.com/', events: ['token.*'] },
  },
  { endpoint: 'listWebhooks' },
  { endpoint: 'listEventTypes' },
  { endpoint: 'getWebhook', path: '/webhooks/:resource' },
  {
    endpoint: 'updateWebhook',
    path: '/webhooks/:resource',
    body: { name: 'W', url: 'https://hooks.example.com/', events: ['token.*'] },
  },
  { endpoint: 'createWebhookSecret', path: '/webhooks/:resource/secret', body: {} },
  { endpoint: 'deleteWebhook', path: '/webhooks/:resource' },
  { endpoint: 'deleteApplication' },
  { endpoint: 'health' },
  { endpoint: 'ready' },
  { endpoint: 'openapi' },
  { endpoint: 'docs' },
  { endpoint: 'docsPage', path: '/docs/errors' },
  { endpoint: 'home' },
  { endpoint: 'deleteTenant' },
]

const askEverything = async (
  vault: TestVault,
  keys: Keys,
  announce: (endpoint: string) => void,
): Promise<void> => {
  const asked = new Set<string>(requests.map(({ endpoint }) => endpoint))
  const ofTokens = Object.entries(endpoints).filter(([, declared]) =>
    ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'].includes(
      (declared as { permission?: string }).permission ?? '',
    ),
  )
  assert.deepEqual(
    ofTokens.map(([name]) => name).filter(name => !asked.has(name)),
    [],
    'every endpoint of tokens is asked',
  )
  const made = { id: '', keyId: '', next: '', resource: '', event: '' }
  for (const { endpoint, path, body, headers, as } of requests) {
    announce(endpoint)
    const {
      method,
      path: pattern,
      permission,
    } = endpoints[endpoint] as {
      method: string
      path: string
      permission?: string
    }
    const isManagers = (permissionsByType.management as readonly string[]).includes(permission ?? '')
    const target = (path ?? pattern)
      .replace(':resource', made.resource)
      .replace(':event', made.event)
      .replace(':id', made.id)
      .replace(':keyId', made.keyId)
      .replace(':next', made.next)
    const reply = await vault.send(method, target, {
      key: keys[as ?? (isManagers ? 'manager' : 'owner')],
      ...(body !== undefined && { body }),
      ...(headers && { headers }),
    })
    assert.ok(reply.status < 400 || reply.status === 409, `${endpoint}: ${reply.text}`)
    if (endpoint === 'createApplication') made.id = reply.body.id
    if (endpoint === 'createProxy' || endpoint === 'createWebhook') made.resource = reply.body.id
    if (endpoint === 'listEvents') made.event = reply.body.data[0].id
    if (endpoint === 'createApiKey') made.keyId = reply.body.id
    if (endpoint === 'listTokensByCursor') made.next = reply.body.pagination.next
  }
}
