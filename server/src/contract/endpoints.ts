import { applicationParameters, permissionParameters } from './application-query.ts'
import {
  ApiKey,
  Application,
  ApplicationPage,
  CreateApiKey,
  CreateApplication,
  ExplainAccess,
  Explanation,
  PermissionEntry,
  UpdateApplication,
} from './application-schemas.ts'
import { cursorParameters } from './cursor-query.ts'
import { endpoint } from './endpoint.ts'
import { listParameters } from './list-query.ts'
import { anyJson } from './schema.ts'
import { FoundTokens, SearchTokens, SearchTokensByCursor } from './search-schemas.ts'
import { IndexReport, Tenant, UpdateTenant, UsageReport } from './tenant-schemas.ts'
import { CreateToken, Token, TokenCursorPage, TokenPage, UpdateToken } from './token-schemas.ts'
import { Type } from './type.ts'

/** Everything that the vault answers to. */
export const endpoints = {
  tokenize: endpoint({
    id: 'tokenize',
    summary: 'Turn every value of a payload into a token, all or nothing',
    method: 'POST',
    path: '/tokenize',
    permission: 'token:create',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: anyJson({ description: 'Strings, numbers, booleans and token definitions become tokens.' }),
    reply: anyJson({ description: 'The same structure with ids and token objects in place of the values.' }),
    status: 200,
    problems: ['idTaken'],
  }),

  createToken: endpoint({
    id: 'createToken',
    summary: 'Create a token',
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: CreateToken,
    nullIsAbsentExcept: ['data'],
    reply: Token,
    status: 201,
    problems: ['idTaken'],
  }),

  listTokens: endpoint({
    id: 'listTokens',
    summary: 'List tokens, newest first',
    method: 'GET',
    path: '/tokens',
    permission: 'token:read',
    query: listParameters,
    reply: TokenPage,
    status: 200,
  }),

  listTokensByCursor: endpoint({
    id: 'listTokensByCursor',
    summary: 'List tokens, newest first, page after page at the same cost',
    method: 'GET',
    path: '/v2/tokens',
    permission: 'token:read',
    query: cursorParameters,
    reply: TokenCursorPage,
    status: 200,
  }),

  searchTokens: endpoint({
    id: 'searchTokens',
    summary: 'Find tokens by a query, newest first',
    method: 'POST',
    path: '/tokens/search',
    permission: 'token:search',
    bodyType: 'application/json',
    body: SearchTokens,
    nullIsAbsentExcept: [],
    reply: FoundTokens,
    status: 200,
  }),

  searchTokensByCursor: endpoint({
    id: 'searchTokensByCursor',
    summary: 'Find tokens by a query, newest first, page after page at the same cost',
    method: 'POST',
    path: '/v2/tokens/search',
    permission: 'token:search',
    bodyType: 'application/json',
    body: SearchTokensByCursor,
    nullIsAbsentExcept: [],
    reply: TokenCursorPage,
    status: 200,
  }),

  getToken: endpoint({
    id: 'getToken',
    summary: 'Read a token',
    method: 'GET',
    path: '/tokens/:id',
    permission: 'token:read',
    reply: Token,
    status: 200,
  }),

  updateToken: endpoint({
    id: 'updateToken',
    summary: 'Change parts of a token',
    method: 'PATCH',
    path: '/tokens/:id',
    permission: 'token:update',
    takesIdempotencyKey: true,
    bodyType: 'application/merge-patch+json',
    body: UpdateToken,
    reply: Token,
    status: 200,
  }),

  deleteToken: endpoint({
    id: 'deleteToken',
    summary: 'Delete a token',
    method: 'DELETE',
    path: '/tokens/:id',
    permission: 'token:delete',
    status: 204,
    problems: ['writeContention'],
  }),

  getTenant: endpoint({
    id: 'getTenant',
    summary: "Read the key's tenant",
    method: 'GET',
    path: '/tenants/self',
    permission: 'tenant:read',
    reply: Tenant,
    status: 200,
  }),

  updateTenant: endpoint({
    id: 'updateTenant',
    summary: "Change the tenant's name and settings",
    method: 'PUT',
    path: '/tenants/self',
    permission: 'tenant:update',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: UpdateTenant,
    nullIsAbsentExcept: [],
    reply: Tenant,
    status: 200,
  }),

  deleteTenant: endpoint({
    id: 'deleteTenant',
    summary: 'Delete the tenant with everything in it and destroy its keys',
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    status: 204,
    problems: ['writeContention'],
  }),

  getUsage: endpoint({
    id: 'getUsage',
    summary: 'How many tokens there are and how many were active this month',
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    reply: UsageReport,
    status: 200,
  }),

  getIndexReport: endpoint({
    id: 'getIndexReport',
    summary: 'How much each search index and metadata key gives away',
    method: 'GET',
    path: '/tenants/self/reports/indexes',
    permission: 'report:read',
    reply: IndexReport,
    status: 200,
  }),

  listApplications: endpoint({
    id: 'listApplications',
    summary: 'List applications, newest first',
    method: 'GET',
    path: '/applications',
    permission: 'application:read',
    query: applicationParameters,
    reply: ApplicationPage,
    status: 200,
  }),

  createApplication: endpoint({
    id: 'createApplication',
    summary: 'Create an application and, unless create_key is false, its first key',
    method: 'POST',
    path: '/applications',
    permission: 'application:create',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: CreateApplication,
    nullIsAbsentExcept: [],
    reply: Application,
    status: 201,
  }),

  getOwnApplication: endpoint({
    id: 'getOwnApplication',
    summary: 'Read the application that the key belongs to',
    method: 'GET',
    path: '/applications/key',
    permission: 'any key',
    reply: Application,
    status: 200,
  }),

  getApplication: endpoint({
    id: 'getApplication',
    summary: 'Read an application',
    method: 'GET',
    path: '/applications/:id',
    permission: 'application:read',
    reply: Application,
    status: 200,
  }),

  updateApplication: endpoint({
    id: 'updateApplication',
    summary: "Change an application's name, permissions or rules",
    method: 'PUT',
    path: '/applications/:id',
    permission: 'application:update',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: UpdateApplication,
    nullIsAbsentExcept: [],
    reply: Application,
    status: 200,
    problems: ['lastManagementKey'],
  }),

  deleteApplication: endpoint({
    id: 'deleteApplication',
    summary: 'Delete an application; its keys stop working at once',
    method: 'DELETE',
    path: '/applications/:id',
    permission: 'application:delete',
    status: 204,
    problems: ['lastManagementKey', 'writeContention'],
  }),

  listApiKeys: endpoint({
    id: 'listApiKeys',
    summary: "List an application's keys, without their texts",
    method: 'GET',
    path: '/applications/:id/keys',
    permission: 'application:read',
    reply: Type.Array(ApiKey),
    status: 200,
  }),

  createApiKey: endpoint({
    id: 'createApiKey',
    summary: 'Create a further key; its text is shown once',
    method: 'POST',
    path: '/applications/:id/keys',
    permission: 'application:update',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    bodyIsOptional: true,
    body: CreateApiKey,
    nullIsAbsentExcept: [],
    reply: ApiKey,
    status: 201,
  }),

  getApiKey: endpoint({
    id: 'getApiKey',
    summary: 'Read a key, without its text',
    method: 'GET',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:read',
    reply: ApiKey,
    status: 200,
  }),

  deleteApiKey: endpoint({
    id: 'deleteApiKey',
    summary: 'Revoke a key at once',
    method: 'DELETE',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:update',
    status: 204,
    problems: ['lastManagementKey', 'writeContention'],
  }),

  explainAccess: endpoint({
    id: 'explainAccess',
    summary: 'Which rule decides for each container, and what the application would see',
    method: 'POST',
    path: '/applications/:id/explain',
    permission: 'application:read',
    bodyType: 'application/json',
    body: ExplainAccess,
    nullIsAbsentExcept: [],
    reply: Explanation,
    status: 200,
  }),

  listPermissions: endpoint({
    id: 'listPermissions',
    summary: 'Every permission and the types of application that may hold it',
    method: 'GET',
    path: '/permissions',
    permission: 'any key',
    query: permissionParameters,
    reply: Type.Array(PermissionEntry),
    status: 200,
  }),

  health: endpoint({
    id: 'health',
    summary: 'Is the process up?',
    method: 'GET',
    path: '/health',
    permission: 'open',
    isProbe: true,
    reply: Type.Object({ status: Type.Literal('up') }),
    status: 200,
  }),

  ready: endpoint({
    id: 'ready',
    summary: 'Do storage and the key service answer?',
    method: 'GET',
    path: '/ready',
    permission: 'open',
    isProbe: true,
    reply: Type.Object({ status: Type.Literal('ready') }),
    status: 200,
    problems: ['unavailable'],
  }),

  openapi: endpoint({
    id: 'openapi',
    summary: 'This interface as an OpenAPI document',
    method: 'GET',
    path: '/openapi.json',
    permission: 'open',
    reply: anyJson(),
    status: 200,
  }),

  docs: endpoint({
    id: 'docs',
    summary: 'This interface as a page to read',
    method: 'GET',
    path: '/docs',
    permission: 'open',
    reply: Type.String(),
    replyType: 'text/html',
    status: 200,
  }),
}

export type EndpointId = keyof typeof endpoints
