/**
 * How the client package calls each endpoint: the method, and for one that yields what it reads, a name for each. Path parameters come
 * first, then the body, or else the query.
 */
export type ClientCall = { readonly method: string; readonly each?: string }

const one = (method: string): ClientCall => ({ method })
const many = (method: string, each: string): ClientCall => ({ method, each })

/** A new endpoint needs its line here: a test of the client compares them. */
export const clientCalls: Readonly<Record<string, ClientCall>> = {
  tokenize: one('tokenize'),
  detokenize: one('detokenize'),
  createToken: one('tokens.create'),
  getToken: one('tokens.get'),
  updateToken: one('tokens.update'),
  deleteToken: one('tokens.delete'),
  listTokens: one('tokens.listPage'),
  listTokensByCursor: many('tokens.list', 'token'),
  searchTokens: one('tokens.searchPage'),
  searchTokensByCursor: many('tokens.search', 'token'),
  getTenant: one('tenant.get'),
  updateTenant: one('tenant.update'),
  deleteTenant: one('tenant.delete'),
  getUsage: one('tenant.usage'),
  getIndexReport: one('tenant.indexReport'),
  listApplications: one('applications.listPage'),
  createApplication: one('applications.create'),
  getOwnApplication: one('applications.own'),
  getApplication: one('applications.get'),
  updateApplication: one('applications.update'),
  deleteApplication: one('applications.delete'),
  explainAccess: one('applications.explain'),
  listPermissions: one('applications.permissions'),
  listApiKeys: one('keys.list'),
  createApiKey: one('keys.create'),
  getApiKey: one('keys.get'),
  deleteApiKey: one('keys.delete'),
  listLogs: many('logs.list', 'record'),
  listLogEntityTypes: one('logs.entityTypes'),
  exportLogs: many('logs.export', 'line'),
  listEvents: many('events.list', 'event'),
  getEvent: one('events.get'),
  listProxies: one('proxies.listPage'),
  createProxy: one('proxies.create'),
  getProxy: one('proxies.get'),
  updateProxy: one('proxies.replace'),
  patchProxy: one('proxies.update'),
  deleteProxy: one('proxies.delete'),
  createProxyKey: one('proxies.newKey'),
  listWebhooks: one('webhooks.listPage'),
  createWebhook: one('webhooks.create'),
  listEventTypes: one('webhooks.eventTypes'),
  getWebhook: one('webhooks.get'),
  updateWebhook: one('webhooks.update'),
  deleteWebhook: one('webhooks.delete'),
  createWebhookSecret: one('webhooks.newSecret'),
  testWebhook: one('webhooks.test'),
  listDeliveries: many('webhooks.failures', 'failure'),
  retryDelivery: one('webhooks.retry'),
  health: one('health'),
  ready: one('ready'),
}
