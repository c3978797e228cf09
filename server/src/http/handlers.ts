import { readApplicationListQuery, readPermissionQuery } from '../contract/applications/query.ts'
import { readDeliveryPageQuery } from '../contract/deliveries/query.ts'
import type { EndpointId, endpoints } from '../contract/endpoints.ts'
import { readEventPageQuery } from '../contract/events/query.ts'
import { readCursorQuery } from '../contract/finding/cursor-query.ts'
import { readListQuery } from '../contract/finding/list-query.ts'
import { ownHeaders } from '../contract/headers.ts'
import { readLogExportQuery, readLogPageQuery } from '../contract/log/query.ts'
import { readPageQuery } from '../contract/paging.ts'
import type { QueryPair } from '../contract/query-pairs.ts'
import { readDetokenizeQuery } from '../contract/use/detokenize-query.ts'
import { VaultError } from '../domain/errors.ts'
import type { Json } from '../domain/json/json.ts'
import { createApplication } from '../operations/applications/create-application.ts'
import { deleteApplication } from '../operations/applications/delete-application.ts'
import { explainAccess } from '../operations/applications/explain-access.ts'
import { getApplication } from '../operations/applications/get-application.ts'
import { listApplications } from '../operations/applications/list-applications.ts'
import { listPermissions } from '../operations/applications/list-permissions.ts'
import { updateApplication } from '../operations/applications/update-application.ts'
import { listDeliveries } from '../operations/delivering/list-deliveries.ts'
import { retryDelivery } from '../operations/delivering/retry-delivery.ts'
import { testWebhook } from '../operations/delivering/test-webhook.ts'
import { getEvent } from '../operations/events/get-event.ts'
import { listEvents } from '../operations/events/list-events.ts'
import { listTokens } from '../operations/finding/list-tokens.ts'
import { listTokensByCursor } from '../operations/finding/list-tokens-by-cursor.ts'
import type { Page } from '../operations/finding/page.ts'
import { searchTokens } from '../operations/finding/search-tokens.ts'
import { searchTokensByCursor } from '../operations/finding/search-tokens-by-cursor.ts'
import { createApiKey } from '../operations/keys/create-api-key.ts'
import { deleteApiKey } from '../operations/keys/delete-api-key.ts'
import { getApiKey } from '../operations/keys/get-api-key.ts'
import { listApiKeys } from '../operations/keys/list-api-keys.ts'
import { exportLogs } from '../operations/log/export-logs.ts'
import { listLogEntityTypes } from '../operations/log/list-log-entity-types.ts'
import { listLogs } from '../operations/log/list-logs.ts'
import { createProxy } from '../operations/proxies/create-proxy.ts'
import { createProxyKey } from '../operations/proxies/create-proxy-key.ts'
import { deleteProxy } from '../operations/proxies/delete-proxy.ts'
import { getProxy } from '../operations/proxies/get-proxy.ts'
import { listProxies } from '../operations/proxies/list-proxies.ts'
import { patchProxy } from '../operations/proxies/patch-proxy.ts'
import { updateProxy } from '../operations/proxies/update-proxy.ts'
import { deleteTenant } from '../operations/tenants/delete-tenant.ts'
import { getIndexReport } from '../operations/tenants/get-index-report.ts'
import { getTenant } from '../operations/tenants/get-tenant.ts'
import { getUsage } from '../operations/tenants/get-usage.ts'
import { updateTenant } from '../operations/tenants/update-tenant.ts'
import { createToken } from '../operations/tokens/create-token.ts'
import { deleteToken } from '../operations/tokens/delete-token.ts'
import { getToken } from '../operations/tokens/get-token.ts'
import { tokenize } from '../operations/tokens/tokenize.ts'
import { updateToken } from '../operations/tokens/update-token.ts'
import { detokenize } from '../operations/use/detokenize.ts'
import { checkReady } from '../operations/vault/check-ready.ts'
import type { Caller, Idempotent, Vault } from '../operations/vault/vault.ts'
import { createWebhook } from '../operations/webhooks/create-webhook.ts'
import { createWebhookSecret } from '../operations/webhooks/create-webhook-secret.ts'
import { deleteWebhook } from '../operations/webhooks/delete-webhook.ts'
import { getWebhook } from '../operations/webhooks/get-webhook.ts'
import { listEventTypes } from '../operations/webhooks/list-event-types.ts'
import { listWebhooks } from '../operations/webhooks/list-webhooks.ts'
import { updateWebhook } from '../operations/webhooks/update-webhook.ts'

/** The names after colons in a path: `'id' | 'keyId'` of `/applications/:id/keys/:keyId`. */
type ParamsIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** What an operation is told: who calls, and what the request holds according to the declaration. */
export type Call<K extends EndpointId> = {
  readonly vault: Vault
  readonly headerPrefix: string
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<ParamsIn<(typeof endpoints)[K]['path']>, string>>
  readonly query: readonly QueryPair[]
  /** The body as it was sent; empty where there is none. */
  readonly bytes: Buffer
  /** Set for a request with an idempotency key. The answer is kept in the commit of the operation. */
  readonly idempotent: Idempotent | undefined
  readonly caller: (typeof endpoints)[K]['permission'] extends 'open' ? undefined : Caller
  readonly body: (typeof endpoints)[K] extends { checkBody?: (...input: never[]) => infer B }
    ? Exclude<B, undefined>
    : undefined
}

/** A call of any endpoint, before its types are known. */
export type AnyCall = {
  readonly [Part in keyof Call<EndpointId>]: Part extends 'params' | 'caller' | 'body'
    ? unknown
    : Call<EndpointId>[Part]
}

/**
 * What an operation returns: JSON, a page of tokens that is sent while it is made, text with its type, text of any length, or
 * `undefined` for an answer without a body.
 */
export type Answer = Json | ReadyText | StreamedText | Page | undefined

export class ReadyText {
  readonly type: string
  readonly content: string
  readonly headers: Readonly<Record<string, string>>

  constructor(type: string, content: string, headers: Record<string, string> = {}) {
    this.type = type
    this.content = content
    this.headers = headers
  }
}

/** An answer of any length. Each piece is made once the client has read enough of those before, so memory holds few of them. */
export class StreamedText {
  readonly type: string
  readonly pieces: AsyncIterable<string>

  constructor(type: string, pieces: AsyncIterable<string>) {
    this.type = type
    this.pieces = pieces
  }
}

export const jsonContentType = 'application/json; charset=utf-8'

/** Answers the calls of an endpoint. */
export type Handle = (call: AnyCall) => Promise<Answer>

/** Not of the proxy, which answers what somebody else has answered (`serve-proxy.ts`). */
export type HandledId = Exclude<EndpointId, 'invokeProxy'>

export type Handlers = { readonly [K in HandledId]: (call: Call<K>) => Promise<Answer> }

const nothing = async (done: Promise<void>): Promise<undefined> => {
  await done
  return undefined
}

/** Loaded on demand, because a start does not need it. */
const documentation = () => import('./docs/documentation.ts')
const documentationPage = async (name: string, headerPrefix: string): Promise<ReadyText> => {
  const { documentationFile } = await documentation()
  const file = await documentationFile(name, headerPrefix)
  if (file === undefined) throw new VaultError('notFound')
  return new ReadyText(file.type, file.text, file.headers)
}

/** Connects each endpoint with its operation. */
export const handlers: Handlers = {
  tokenize: ({ vault, caller, body, idempotent }) => tokenize(vault, caller, body, idempotent),
  createToken: ({ vault, caller, body, idempotent }) => createToken(vault, caller, body, idempotent),
  listTokens: async ({ vault, caller, query }) => listTokens(vault, caller, readListQuery(query)),
  listTokensByCursor: async ({ vault, caller, query }) =>
    listTokensByCursor(vault, caller, readCursorQuery(query)),
  searchTokens: ({ vault, caller, body }) => searchTokens(vault, caller, body),
  searchTokensByCursor: ({ vault, caller, body }) => searchTokensByCursor(vault, caller, body),
  detokenize: async ({ vault, caller, query, bytes, headerPrefix }) => {
    const { missing } = ownHeaders(headerPrefix)
    const { text, absentLeaves } = await detokenize(vault, caller, bytes, readDetokenizeQuery(query))
    return new ReadyText(
      jsonContentType,
      text,
      absentLeaves === undefined ? {} : { [missing]: String(absentLeaves) },
    )
  },
  getToken: ({ vault, caller, params }) => getToken(vault, caller, params.id),
  updateToken: ({ vault, caller, params, body, idempotent }) =>
    updateToken(vault, caller, params.id, body, idempotent),
  deleteToken: ({ vault, caller, params }) => nothing(deleteToken(vault, caller, params.id)),

  getTenant: ({ vault, caller }) => getTenant(vault, caller),
  updateTenant: ({ vault, caller, body, idempotent }) => updateTenant(vault, caller, body, idempotent),
  deleteTenant: ({ vault, caller }) => nothing(deleteTenant(vault, caller)),
  getUsage: ({ vault, caller }) => getUsage(vault, caller),
  getIndexReport: ({ vault, caller }) => getIndexReport(vault, caller),

  listApplications: async ({ vault, caller, query }) =>
    listApplications(vault, caller, readApplicationListQuery(query)),
  createApplication: ({ vault, caller, body, idempotent }) =>
    createApplication(vault, caller, body, idempotent),
  getOwnApplication: ({ vault, caller }) => getApplication(vault, caller, caller.application.id),
  getApplication: ({ vault, caller, params }) => getApplication(vault, caller, params.id),
  updateApplication: ({ vault, caller, params, body, idempotent }) =>
    updateApplication(vault, caller, params.id, body, idempotent),
  deleteApplication: ({ vault, caller, params }) => nothing(deleteApplication(vault, caller, params.id)),
  listApiKeys: ({ vault, caller, params }) => listApiKeys(vault, caller, params.id),
  createApiKey: ({ vault, caller, params, body, idempotent }) =>
    createApiKey(vault, caller, params.id, body, idempotent),
  getApiKey: ({ vault, caller, params }) => getApiKey(vault, caller, params.id, params.keyId),
  deleteApiKey: ({ vault, caller, params }) => nothing(deleteApiKey(vault, caller, params.id, params.keyId)),
  explainAccess: ({ vault, caller, params, body }) => explainAccess(vault, caller, params.id, body),
  listPermissions: async ({ query }) => listPermissions(readPermissionQuery(query)),

  listProxies: async ({ vault, caller, query }) => listProxies(vault, caller, readPageQuery(query)),
  createProxy: ({ vault, caller, body, idempotent }) => createProxy(vault, caller, body, idempotent),
  getProxy: ({ vault, caller, params }) => getProxy(vault, caller, params.id),
  updateProxy: ({ vault, caller, params, body, idempotent }) =>
    updateProxy(vault, caller, params.id, body, idempotent),
  patchProxy: ({ vault, caller, params, body, idempotent }) =>
    nothing(patchProxy(vault, caller, params.id, body, idempotent)),
  deleteProxy: ({ vault, caller, params }) => nothing(deleteProxy(vault, caller, params.id)),
  createProxyKey: ({ vault, caller, params, idempotent }) =>
    createProxyKey(vault, caller, params.id, idempotent),

  listWebhooks: async ({ vault, caller, query }) => listWebhooks(vault, caller, readPageQuery(query)),
  createWebhook: ({ vault, caller, body, idempotent }) => createWebhook(vault, caller, body, idempotent),
  listEventTypes: async () => listEventTypes(),
  getWebhook: ({ vault, caller, params }) => getWebhook(vault, caller, params.id),
  updateWebhook: ({ vault, caller, params, body, idempotent }) =>
    updateWebhook(vault, caller, params.id, body, idempotent),
  deleteWebhook: ({ vault, caller, params }) => nothing(deleteWebhook(vault, caller, params.id)),
  createWebhookSecret: ({ vault, caller, params, body, idempotent }) =>
    createWebhookSecret(vault, caller, params.id, body, idempotent),

  listLogs: async ({ vault, caller, query }) => listLogs(vault, caller, readLogPageQuery(query)),
  listLogEntityTypes: async () => listLogEntityTypes(),
  exportLogs: async ({ vault, caller, query }) =>
    new StreamedText('application/x-ndjson', exportLogs(vault, caller, readLogExportQuery(query))),

  listEvents: ({ vault, caller, query }) => listEvents(vault, caller, readEventPageQuery(query)),
  getEvent: ({ vault, caller, params }) => getEvent(vault, caller, params.id),

  testWebhook: ({ vault, caller, params, idempotent }) => testWebhook(vault, caller, params.id, idempotent),
  listDeliveries: ({ vault, caller, params, query }) =>
    listDeliveries(vault, caller, params.id, readDeliveryPageQuery(query)),
  retryDelivery: ({ vault, caller, params, idempotent }) =>
    retryDelivery(vault, caller, params.id, params.deliveryId, idempotent),

  health: async () => ({ status: 'up' }),
  ready: async ({ vault }) => {
    await checkReady(vault)
    const { state } = vault.anchoring
    return { status: 'ready', ...((state === 'failing' || state === 'stopped') && { anchors: state }) }
  },
  openapi: async ({ headerPrefix }) => {
    const { openApiText } = await documentation()
    return new ReadyText(jsonContentType, openApiText(headerPrefix))
  },
  home: async () => new ReadyText('text/plain; charset=utf-8', 'See /docs.\n', { location: '/docs' }),
  docs: ({ headerPrefix }) => documentationPage('', headerPrefix),
  docsPage: ({ headerPrefix, params }) => documentationPage(params.page, headerPrefix),
}
