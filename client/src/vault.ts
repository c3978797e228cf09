import { type CallOptions, Connection, type VaultOptions, type WriteOptions } from './connection.ts'
import type * as shapes from './generated/types.ts'
import type { Operations, Token } from './generated/types.ts'
import { linesOf } from './lines.ts'
import { Pages, pagesByNumber, untilEmpty, untilNoNext } from './pages.ts'
import { type ProxyRequest, sendThroughProxy } from './proxy.ts'

type Query<Id extends keyof Operations> = Operations[Id] extends { query: infer Q } ? Q : never

/** What a payload becomes: ids in place of texts, numbers and booleans, tokens in place of definitions. */
export type Tokenized<T> = T extends string | number | bigint | boolean
  ? string
  : T extends null | undefined
    ? T
    : T extends { readonly type: string; readonly data: unknown }
      ? Token
      : T extends object
        ? { [Name in keyof T]: Tokenized<T[Name]> }
        : unknown

/** A vault, as the application of one key sees it. */
export class Vault {
  readonly #connection: Connection
  readonly tokens: Tokens
  readonly tenant: Tenant
  readonly applications: Applications
  readonly keys: Keys
  readonly logs: Logs
  readonly events: Events
  readonly webhooks: Webhooks
  readonly proxies: Proxies

  constructor(options: VaultOptions) {
    const connection = new Connection(options)
    this.#connection = connection
    this.tokens = new Tokens(connection)
    this.tenant = new Tenant(connection)
    this.applications = new Applications(connection)
    this.keys = new Keys(connection)
    this.logs = new Logs(connection)
    this.events = new Events(connection)
    this.webhooks = new Webhooks(connection)
    this.proxies = new Proxies(connection)
  }

  /** Turns every value of a payload into a token, all or none. */
  tokenize<const T>(payload: T, options?: WriteOptions): Promise<Tokenized<T>> {
    return this.#connection.send('tokenize', { body: payload }, options) as Promise<Tokenized<T>>
  }

  /**
   * Puts the values of tokens where strings of the payload name them: `{{ id }}` is the data of a token, `{{ token: id }}` the token.
   * With `missing: 'null'` a string that names a token which is not there becomes null.
   */
  detokenize(
    payload: unknown,
    { missing, ...options }: CallOptions & Query<'detokenize'> = {},
  ): Promise<unknown> {
    return this.#connection.send('detokenize', { query: { missing }, body: payload }, options)
  }

  /** Sends a request with values of tokens in it to another server, which alone sees them. */
  proxy(request: ProxyRequest): Promise<Response> {
    return sendThroughProxy(this.#connection, request)
  }

  /** Is the process up? */
  health(options?: CallOptions): Promise<Operations['health']['reply']> {
    return this.#connection.send('health', {}, options)
  }

  /** Do storage and the key service answer? */
  ready(options?: CallOptions): Promise<Operations['ready']['reply']> {
    return this.#connection.send('ready', {}, options)
  }
}

/** Pages of a hundred cost less than the five times as many by default. */
const pageSize = 100

class Tokens {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  create(token: shapes.TokenDefinition, options?: WriteOptions): Promise<Token> {
    return this.#connection.send('createToken', { body: token }, options)
  }

  get(id: string, options?: CallOptions): Promise<Token> {
    return this.#connection.send('getToken', { params: { id } }, options)
  }

  /** A merge patch: what is absent stays, and what is null goes. */
  update(id: string, patch: shapes.UpdateToken, options?: WriteOptions): Promise<Token> {
    return this.#connection.send('updateToken', { params: { id }, body: patch }, options)
  }

  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#connection.send('deleteToken', { params: { id } }, options)
  }

  /** All tokens that match, newest first. */
  list(query: Query<'listTokensByCursor'> = {}, options?: CallOptions): Pages<Token> {
    const page = async (start: string | undefined) =>
      untilNoNext(
        await this.#connection.send(
          'listTokensByCursor',
          { query: { size: pageSize, ...query, start } },
          options,
        ),
      )
    return new Pages(page, query.start)
  }

  /** One page by its number, with the count of all. */
  listPage(query: Query<'listTokens'> = {}, options?: CallOptions): Promise<shapes.TokenPage> {
    return this.#connection.send('listTokens', { query }, options)
  }

  /** All tokens that a query such as `data:"ada@example.com"` finds, newest first. */
  search(
    query: string,
    {
      start,
      size = pageSize,
      ...options
    }: CallOptions & {
      readonly start?: string | undefined
      readonly size?: number | undefined
    } = {},
  ): Pages<Token> {
    const page = async (next: string | undefined) =>
      untilNoNext(
        await this.#connection.send('searchTokensByCursor', { body: { query, size, start: next } }, options),
      )
    return new Pages(page, start)
  }

  /** One page by its number, with the count of all and, if asked for, the plan. */
  searchPage(search: shapes.SearchTokens, options?: CallOptions): Promise<shapes.FoundTokens> {
    return this.#connection.send('searchTokens', { body: search }, options)
  }
}

class Tenant {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  get(options?: CallOptions): Promise<shapes.Tenant> {
    return this.#connection.send('getTenant', {}, options)
  }

  update(tenant: shapes.UpdateTenant, options?: WriteOptions): Promise<shapes.Tenant> {
    return this.#connection.send('updateTenant', { body: tenant }, options)
  }

  /** Everything in it goes, and its keys with it: repeated, it is `unauthorized`. */
  delete(options?: CallOptions): Promise<void> {
    return this.#connection.send('deleteTenant', {}, options)
  }

  usage(options?: CallOptions): Promise<shapes.UsageReport> {
    return this.#connection.send('getUsage', {}, options)
  }

  /** How much each search index and metadata key gives away. */
  indexReport(options?: CallOptions): Promise<shapes.IndexReport> {
    return this.#connection.send('getIndexReport', {}, options)
  }
}

class Applications {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The answer alone has the text of its first key. If it was lost, KeyTextLostError is thrown. */
  create(application: shapes.CreateApplication, options?: WriteOptions): Promise<shapes.Application> {
    return this.#connection.send('createApplication', { body: application }, options)
  }

  get(id: string, options?: CallOptions): Promise<shapes.Application> {
    return this.#connection.send('getApplication', { params: { id } }, options)
  }

  /** That of the key. */
  own(options?: CallOptions): Promise<shapes.Application> {
    return this.#connection.send('getOwnApplication', {}, options)
  }

  update(
    id: string,
    application: shapes.UpdateApplication,
    options?: WriteOptions,
  ): Promise<shapes.Application> {
    return this.#connection.send('updateApplication', { params: { id }, body: application }, options)
  }

  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#connection.send('deleteApplication', { params: { id } }, options)
  }

  /** All applications. If one is deleted meanwhile, another may be missed: applications have no cursor. */
  list(
    query: Omit<Query<'listApplications'>, 'page' | 'size'> = {},
    options?: CallOptions,
  ): Pages<shapes.Application> {
    return pagesByNumber(page => this.listPage({ ...query, page, size: pageSize }, options))
  }

  listPage(query: Query<'listApplications'> = {}, options?: CallOptions): Promise<shapes.ApplicationPage> {
    return this.#connection.send('listApplications', { query }, options)
  }

  /** Which rule decides for each container, and what the application would see. */
  explain(id: string, question: shapes.ExplainAccess, options?: CallOptions): Promise<shapes.Explanation> {
    return this.#connection.send('explainAccess', { params: { id }, body: question }, options)
  }

  /** Every permission there is. */
  permissions(
    query: Query<'listPermissions'> = {},
    options?: CallOptions,
  ): Promise<readonly shapes.PermissionEntry[]> {
    return this.#connection.send('listPermissions', { query }, options)
  }
}

class Keys {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The answer alone has the key's text. If it was lost, KeyTextLostError is thrown, with the id of the key to revoke. */
  create(
    applicationId: string,
    key: shapes.CreateApiKey = {},
    options?: WriteOptions,
  ): Promise<shapes.ApiKey> {
    return this.#connection.send('createApiKey', { params: { id: applicationId }, body: key }, options)
  }

  list(applicationId: string, options?: CallOptions): Promise<readonly shapes.ApiKey[]> {
    return this.#connection.send('listApiKeys', { params: { id: applicationId } }, options)
  }

  get(applicationId: string, keyId: string, options?: CallOptions): Promise<shapes.ApiKey> {
    return this.#connection.send('getApiKey', { params: { id: applicationId, keyId } }, options)
  }

  /** Revokes it at once. */
  delete(applicationId: string, keyId: string, options?: CallOptions): Promise<void> {
    return this.#connection.send('deleteApiKey', { params: { id: applicationId, keyId } }, options)
  }
}

class Logs {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** All records that match, newest first. */
  list(query: Query<'listLogs'> = {}, options?: CallOptions): Pages<shapes.LogEntry> {
    const page = async (start: string | undefined) =>
      untilNoNext(await this.#connection.send('listLogs', { query: { ...query, start } }, options))
    return new Pages(page, query.start)
  }

  /** What records are about. */
  entityTypes(options?: CallOptions): Promise<readonly shapes.LogEntityType[]> {
    return this.#connection.send('listLogEntityTypes', {}, options)
  }

  /**
   * Each line of an export, oldest first: records, `{"next"}` to go on from after an interruption, and what proves the log. Nothing is
   * repeated by itself.
   */
  async *export(
    query: Query<'exportLogs'> = {},
    options?: CallOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    yield* linesOf(await this.#connection.open('exportLogs', { query }, options))
  }
}

class Events {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** All events so far, oldest first. The `next` of the last page leads to what comes later. */
  list(query: Query<'listEvents'> = {}, options?: CallOptions): Pages<shapes.Event> {
    const page = async (start: string | undefined) =>
      untilEmpty(await this.#connection.send('listEvents', { query: { ...query, start } }, options))
    return new Pages(page, query.start)
  }

  get(id: string, options?: CallOptions): Promise<shapes.Event> {
    return this.#connection.send('getEvent', { params: { id } }, options)
  }
}

class Webhooks {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The answer alone has the secret that signs what is sent. If it was lost, KeyTextLostError is thrown. */
  create(webhook: shapes.CreateWebhook, options?: WriteOptions): Promise<shapes.Webhook> {
    return this.#connection.send('createWebhook', { body: webhook }, options)
  }

  get(id: string, options?: CallOptions): Promise<shapes.Webhook> {
    return this.#connection.send('getWebhook', { params: { id } }, options)
  }

  /** Replaces all of it but its secrets. */
  update(id: string, webhook: shapes.CreateWebhook, options?: WriteOptions): Promise<shapes.Webhook> {
    return this.#connection.send('updateWebhook', { params: { id }, body: webhook }, options)
  }

  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#connection.send('deleteWebhook', { params: { id } }, options)
  }

  list(options?: CallOptions): Pages<shapes.Webhook> {
    return pagesByNumber(page => this.listPage({ page, size: pageSize }, options))
  }

  listPage(query: Query<'listWebhooks'> = {}, options?: CallOptions): Promise<shapes.WebhookPage> {
    return this.#connection.send('listWebhooks', { query }, options)
  }

  /** What a webhook may ask for by name. */
  eventTypes(options?: CallOptions): Promise<Operations['listEventTypes']['reply']> {
    return this.#connection.send('listEventTypes', {}, options)
  }

  /** A new secret; the one before signs too until its grace ends. The answer alone has it. */
  newSecret(
    id: string,
    secret: shapes.CreateWebhookSecret = {},
    options?: WriteOptions,
  ): Promise<shapes.Webhook> {
    return this.#connection.send('createWebhookSecret', { params: { id }, body: secret }, options)
  }

  /** Sends a test to the receiver, and tells how that went. */
  test(id: string, options?: WriteOptions): Promise<shapes.WebhookTestResult> {
    return this.#connection.send('testWebhook', { params: { id } }, options)
  }

  /** The events that could not be delivered at first. */
  failures(
    id: string,
    query: Query<'listDeliveries'> = {},
    options?: CallOptions,
  ): Pages<shapes.FailedDelivery> {
    const page = async (start: string | undefined) =>
      untilNoNext(
        await this.#connection.send(
          'listDeliveries',
          { params: { id }, query: { ...query, start } },
          options,
        ),
      )
    return new Pages(page, query.start)
  }

  /** Has a failed event delivered now. */
  retry(id: string, deliveryId: string, options?: WriteOptions): Promise<shapes.FailedDelivery> {
    return this.#connection.send('retryDelivery', { params: { id, deliveryId } }, options)
  }
}

class Proxies {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The answer alone has the key of the proxy. If it was lost, KeyTextLostError is thrown. */
  create(proxy: shapes.CreateProxy, options?: WriteOptions): Promise<shapes.Proxy> {
    return this.#connection.send('createProxy', { body: proxy }, options)
  }

  get(id: string, options?: CallOptions): Promise<shapes.Proxy> {
    return this.#connection.send('getProxy', { params: { id } }, options)
  }

  list(options?: CallOptions): Pages<shapes.Proxy> {
    return pagesByNumber(page => this.listPage({ page, size: pageSize }, options))
  }

  listPage(query: Query<'listProxies'> = {}, options?: CallOptions): Promise<shapes.ProxyPage> {
    return this.#connection.send('listProxies', { query }, options)
  }

  /** Replaces all of it but its key. */
  replace(id: string, proxy: shapes.CreateProxy, options?: WriteOptions): Promise<shapes.Proxy> {
    return this.#connection.send('updateProxy', { params: { id }, body: proxy }, options)
  }

  /** Changes what the patch names; null removes. */
  update(id: string, patch: shapes.PatchProxy, options?: WriteOptions): Promise<void> {
    return this.#connection.send('patchProxy', { params: { id }, body: patch }, options)
  }

  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#connection.send('deleteProxy', { params: { id } }, options)
  }

  /** A new key, which ends the one before at once. The answer alone has it. */
  newKey(id: string, options?: WriteOptions): Promise<shapes.Proxy> {
    return this.#connection.send('createProxyKey', { params: { id }, body: {} }, options)
  }
}
