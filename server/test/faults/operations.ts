import type { TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import type { Send, TestVault } from '../rig/test-vault.ts'

/** A tenant with some of everything in it. */
export type Scene = {
  readonly vault: TestVault
  readonly tenantNumber: number
  readonly keys: { readonly owner: string; readonly manager: string }
  readonly tokenId: string
  readonly applicationId: string
  readonly keyId: string
  readonly proxyId: string
}

export const buildScene = async (vault: TestVault): Promise<Scene> => {
  const { keys, tenantId } = await vault.tenant(ownerAndManager)
  const token = await vault.create(keys.owner, {
    type: 'card',
    data: { number: '4242424242424242', cvc: '123' },
    metadata: { color: 'red' },
  })
  const made = await vault.post('/applications', keys.manager, {
    name: 'spare',
    type: 'private',
    permissions: ['token:read'],
  })
  const key = await vault.post(`/applications/${made.body.id}/keys`, keys.manager, {})
  const proxy = await vault.post('/proxies', keys.manager, {
    name: 'P',
    destination_url: 'https://api.example.com/',
  })
  return {
    vault,
    tenantNumber: await vault.tenantNumber(tenantId),
    keys,
    tokenId: token.id,
    applicationId: made.body.id,
    keyId: key.body.id,
    proxyId: proxy.body.id,
  }
}

/** A request, and whether it writes. */
export type FaultedOperation = {
  readonly name: string
  readonly isWrite: boolean
  readonly send: (scene: Scene) => {
    method: string
    path: string
    as: 'owner' | 'manager'
    body?: unknown
  }
}

const write = (name: string, send: FaultedOperation['send']): FaultedOperation => ({
  name,
  isWrite: true,
  send,
})
const search = (name: string, path: string): FaultedOperation => ({
  name,
  isWrite: false,
  send: () => ({ method: 'POST', path, as: 'owner', body: { query: 'type:card AND metadata.color:red' } }),
})

const read = (name: string, path: (scene: Scene) => string, as: 'owner' | 'manager'): FaultedOperation => ({
  name,
  isWrite: false,
  send: scene => ({ method: 'GET', path: path(scene), as }),
})

/** Every operation that goes to storage. */
export const operations: readonly FaultedOperation[] = [
  write('createToken', () => ({
    method: 'POST',
    path: '/tokens',
    as: 'owner',
    body: { type: 'card', data: { number: '4111111111111111', cvc: '321' }, deduplicate_token: true },
  })),
  write('createToken with a chosen id', () => ({
    method: 'POST',
    path: '/tokens',
    as: 'owner',
    body: { id: 'chosen', type: 'token', data: 'x', containers: ['/a/', '/b/'] },
  })),
  write('tokenize', () => ({
    method: 'POST',
    path: '/tokenize',
    as: 'owner',
    body: { list: ['a', 'b'], card: { type: 'card', data: { number: '4111111111111111' } } },
  })),
  write('updateToken', ({ tokenId }) => ({
    method: 'PATCH',
    path: `/tokens/${tokenId}`,
    as: 'owner',
    body: { data: { cvc: '999' }, metadata: { color: 'blue' }, containers: ['/a/'], deduplicate_token: true },
  })),
  write('deleteToken', ({ tokenId }) => ({ method: 'DELETE', path: `/tokens/${tokenId}`, as: 'owner' })),
  write('updateTenant', () => ({
    method: 'PUT',
    path: '/tenants/self',
    as: 'manager',
    body: { name: 'Renamed', settings: { deduplicate_tokens: 'true' } },
  })),
  write('createApplication', () => ({
    method: 'POST',
    path: '/applications',
    as: 'manager',
    body: { name: 'another', type: 'private', permissions: ['token:read'] },
  })),
  write('updateApplication', ({ applicationId }) => ({
    method: 'PUT',
    path: `/applications/${applicationId}`,
    as: 'manager',
    body: { name: 'renamed', permissions: ['token:create'] },
  })),
  write('deleteApplication', ({ applicationId }) => ({
    method: 'DELETE',
    path: `/applications/${applicationId}`,
    as: 'manager',
  })),
  write('createApiKey', ({ applicationId }) => ({
    method: 'POST',
    path: `/applications/${applicationId}/keys`,
    as: 'manager',
    body: {},
  })),
  write('deleteApiKey', ({ applicationId, keyId }) => ({
    method: 'DELETE',
    path: `/applications/${applicationId}/keys/${keyId}`,
    as: 'manager',
  })),
  write('createProxy', () => ({
    method: 'POST',
    path: '/proxies',
    as: 'manager',
    body: { name: 'P', destination_url: 'https://api.example.com/' },
  })),
  write('createProxyKey', ({ proxyId }) => ({
    method: 'POST',
    path: `/proxies/${proxyId}/key`,
    as: 'manager',
    body: {},
  })),
  write('deleteProxy', ({ proxyId }) => ({ method: 'DELETE', path: `/proxies/${proxyId}`, as: 'manager' })),
  write('deleteTenant', () => ({ method: 'DELETE', path: '/tenants/self', as: 'manager' })),
  read('getToken', ({ tokenId }) => `/tokens/${tokenId}`, 'owner'),
  read('listTokens', () => '/tokens?metadata.color=red', 'owner'),
  read('listTokensByCursor', () => '/v2/tokens?size=1', 'owner'),
  search('searchTokens', '/tokens/search'),
  search('searchTokensByCursor', '/v2/tokens/search'),
  read('getTenant', () => '/tenants/self', 'manager'),
  read('getUsage', () => '/tenants/self/reports/usage', 'manager'),
  read('listApplications', () => '/applications', 'manager'),
  read('getApplication', ({ applicationId }) => `/applications/${applicationId}`, 'manager'),
  read('listProxies', () => '/proxies', 'manager'),
  read('listApiKeys', ({ applicationId }) => `/applications/${applicationId}/keys`, 'manager'),
]

export const sendOperation = (
  scene: Scene,
  operation: FaultedOperation,
  more: Send = {},
): Promise<TestReply> => {
  const { method, path, as, body } = operation.send(scene)
  return scene.vault.send(method, path, { key: scene.keys[as], ...(body !== undefined && { body }), ...more })
}

/** The tables in which a tenant has rows, with their columns, except hints that are written lazily. */
export const columnsByTable: Readonly<Record<string, string>> = {
  tenants: '*',
  dead_tenants: '*',
  tenant_keys: '*',
  applications: '*',
  api_keys: 'hash, tenant, key_id, sealed',
  resources: '*',
  deliveries: '*',
  tokens: '*',
  terms: '*',
  matches: '*',
  transients: '*',
  results: '*',
  counters: '*',
}

/** Everything that storage holds of the tenant. */
export const contentOf = async ({ vault, tenantNumber }: Scene): Promise<Record<string, unknown>> => {
  const rows = await vault.engine.reachAll(
    vault.folder.path,
    Object.entries(columnsByTable).map(([table, columns]) => [
      `SELECT ${columns} FROM ${table} WHERE tenant = ?`,
      tenantNumber,
    ]),
  )
  return Object.fromEntries(Object.keys(columnsByTable).map((table, at) => [table, rows[at]]))
}
