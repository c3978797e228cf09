import { declareEndpoints } from '../endpoint.ts'
import { pageParameters } from '../paging.ts'
import { proxyId } from '../path-parameters.ts'
import { CreateProxy, CreateProxyKey, PatchProxy, ProxyPage, ProxyView } from './schemas.ts'

const logs = { entityType: 'proxy' } as const

/** An example body for two endpoints: the destination's own key is added to what callers send. */
const payments = {
  name: 'Payments',
  destination_url: 'https://api.payments.example/v1',
  configuration: { api_key: 'sk_live_8f2d' },
  request_transforms: [
    { type: 'append_header', name: 'Authorization', value: 'Bearer {{ config: api_key }}' },
  ],
  response_transforms: [{ type: 'mask', matcher: 'pan' }],
  timeout: 20,
  methods: ['POST'],
}

export const proxyEndpoints = declareEndpoints({
  listProxies: {
    summary: 'List proxies, newest first',
    tag: 'Proxies',
    method: 'GET',
    path: '/proxies',
    permission: 'proxy:read',
    logs,
    query: pageParameters,
    reply: ProxyPage,
    status: 200,
  },

  createProxy: {
    summary: 'Create a proxy; its key is shown once',
    tag: 'Proxies',
    method: 'POST',
    path: '/proxies',
    permission: 'proxy:create',
    logs,
    changes: true,
    body: CreateProxy,
    nullIsAbsentExcept: [],
    examples: {
      payments,
      inbound: {
        name: 'Orders',
        destination_url: 'https://shop.example.com/orders',
        response_transforms: [{ type: 'tokenize', token: { type: 'token' }, location: '$.iban' }],
      },
    },
    reply: ProxyView,
    status: 201,
    location: '/proxies/:id',
  },

  getProxy: {
    summary: 'Read a proxy, without its key and the values of its configuration',
    tag: 'Proxies',
    method: 'GET',
    path: '/proxies/:id',
    permission: 'proxy:read',
    logs,
    params: { id: proxyId },
    reply: ProxyView,
    status: 200,
  },

  updateProxy: {
    summary: 'Replace all of a proxy but its key',
    tag: 'Proxies',
    method: 'PUT',
    path: '/proxies/:id',
    permission: 'proxy:update',
    logs,
    changes: true,
    params: { id: proxyId },
    body: CreateProxy,
    nullIsAbsentExcept: [],
    examples: { payments: { ...payments, configuration: { api_key: 'sk_live_91c0' } } },
    reply: ProxyView,
    status: 200,
  },

  patchProxy: {
    summary: 'Change parts of a proxy',
    tag: 'Proxies',
    method: 'PATCH',
    path: '/proxies/:id',
    permission: 'proxy:update',
    logs,
    changes: true,
    params: { id: proxyId },
    bodyType: 'application/merge-patch+json',
    body: PatchProxy,
    examples: { configuration: { configuration: { api_key: 'sk_live_91c0' }, timeout: null } },
    status: 204,
  },

  deleteProxy: {
    summary: 'Delete a proxy; its key stops working at once',
    tag: 'Proxies',
    method: 'DELETE',
    path: '/proxies/:id',
    permission: 'proxy:delete',
    logs,
    changes: true,
    params: { id: proxyId },
    status: 204,
  },

  createProxyKey: {
    summary: 'Make a new key for a proxy, which ends the old one at once; it is shown once',
    tag: 'Proxies',
    method: 'POST',
    path: '/proxies/:id/key',
    permission: 'proxy:update',
    logs,
    changes: true,
    params: { id: proxyId },
    bodyIsOptional: true,
    body: CreateProxyKey,
    examples: { none: {} },
    reply: ProxyView,
    status: 201,
  },
})
