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
import { applicationId, keyId, tokenId } from './path-parameters.ts'
import { anyJson } from './schema.ts'
import { FoundTokens, SearchTokens, SearchTokensByCursor } from './search-schemas.ts'
import { IndexReport, Tenant, UpdateTenant, UsageReport } from './tenant-schemas.ts'
import { CreateToken, Token, TokenCursorPage, TokenPage, typeExamples, UpdateToken } from './token-schemas.ts'
import { Type } from './type.ts'

/** An example of two endpoints: it sees tokens below one container, masked. */
const supportDesk = {
  name: 'Support desk',
  type: 'private',
  rules: [
    {
      description: 'Looks up customers',
      priority: 1,
      container: '/general/',
      transform: 'mask',
      permissions: ['token:read', 'token:search'],
    },
  ],
}

/** Everything that the vault answers to. */
export const endpoints = {
  tokenize: endpoint({
    id: 'tokenize',
    summary: 'Turn every value of a payload into a token, all or nothing',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokenize',
    permission: 'token:create',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: anyJson({
      description:
        'Strings, numbers and booleans become tokens, and so does an object with type and data: it is read as a CreateToken. Other objects and arrays are gone through; null stays.',
    }),
    examples: {
      record: {
        name: 'Ada Lovelace',
        emails: [
          'ada@example.com',
          { type: 'token', data: 'lovelace@example.com', metadata: { customer: '8' } },
        ],
      },
    },
    reply: anyJson({
      description:
        'The same structure: ids in place of strings, numbers and booleans, Tokens in place of objects with type and data.',
    }),
    status: 200,
    problems: ['idTaken'],
  }),

  createToken: endpoint({
    id: 'createToken',
    summary: 'Create a token',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: CreateToken,
    nullIsAbsentExcept: ['data'],
    examples: {
      email: {
        id: tokenId.example,
        type: 'token',
        data: 'ada@example.com',
        mask: '{{ data | reveal_last: 4 }}',
        metadata: { customer: '8' },
        search_indexes: ['{{ data }}'],
      },
      ...typeExamples,
    },
    reply: Token,
    status: 201,
    location: '/tokens/:id',
    problems: ['idTaken'],
  }),

  listTokens: endpoint({
    id: 'listTokens',
    summary: 'List tokens, newest first',
    tag: 'Tokens',
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
    tag: 'Tokens',
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
    tag: 'Tokens',
    method: 'POST',
    path: '/tokens/search',
    permission: 'token:search',
    bodyType: 'application/json',
    body: SearchTokens,
    nullIsAbsentExcept: [],
    examples: { query: { query: 'data:"ada@example.com" AND metadata.customer:8' } },
    reply: FoundTokens,
    status: 200,
  }),

  searchTokensByCursor: endpoint({
    id: 'searchTokensByCursor',
    summary: 'Find tokens by a query, newest first, page after page at the same cost',
    tag: 'Tokens',
    method: 'POST',
    path: '/v2/tokens/search',
    permission: 'token:search',
    bodyType: 'application/json',
    body: SearchTokensByCursor,
    nullIsAbsentExcept: [],
    examples: { query: { query: 'type:token AND metadata.customer:8', size: 50 } },
    reply: TokenCursorPage,
    status: 200,
  }),

  getToken: endpoint({
    id: 'getToken',
    summary: 'Read a token',
    tag: 'Tokens',
    method: 'GET',
    path: '/tokens/:id',
    permission: 'token:read',
    params: { id: tokenId },
    reply: Token,
    status: 200,
  }),

  updateToken: endpoint({
    id: 'updateToken',
    summary: 'Change parts of a token',
    tag: 'Tokens',
    method: 'PATCH',
    path: '/tokens/:id',
    permission: 'token:update',
    params: { id: tokenId },
    takesIdempotencyKey: true,
    bodyType: 'application/merge-patch+json',
    body: UpdateToken,
    examples: { metadata: { metadata: { verified: 'yes' } } },
    reply: Token,
    status: 200,
  }),

  deleteToken: endpoint({
    id: 'deleteToken',
    summary: 'Delete a token',
    tag: 'Tokens',
    method: 'DELETE',
    path: '/tokens/:id',
    permission: 'token:delete',
    params: { id: tokenId },
    status: 204,
    problems: ['writeContention'],
  }),

  getTenant: endpoint({
    id: 'getTenant',
    summary: "Read the key's tenant",
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self',
    permission: 'tenant:read',
    reply: Tenant,
    status: 200,
  }),

  updateTenant: endpoint({
    id: 'updateTenant',
    summary: "Change the tenant's name and settings",
    tag: 'Tenant',
    method: 'PUT',
    path: '/tenants/self',
    permission: 'tenant:update',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: UpdateTenant,
    nullIsAbsentExcept: [],
    examples: { settings: { name: 'Shop', settings: { deduplicate_tokens: 'true' } } },
    reply: Tenant,
    status: 200,
  }),

  deleteTenant: endpoint({
    id: 'deleteTenant',
    summary: 'Delete the tenant with everything in it and destroy its keys',
    tag: 'Tenant',
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    status: 204,
    problems: ['writeContention'],
  }),

  getUsage: endpoint({
    id: 'getUsage',
    summary: 'How many tokens there are and how many were active this month',
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    reply: UsageReport,
    status: 200,
  }),

  getIndexReport: endpoint({
    id: 'getIndexReport',
    summary: 'How much each search index and metadata key gives away',
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self/reports/indexes',
    permission: 'report:read',
    reply: IndexReport,
    status: 200,
  }),

  listApplications: endpoint({
    id: 'listApplications',
    summary: 'List applications, newest first',
    tag: 'Applications',
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
    tag: 'Applications',
    method: 'POST',
    path: '/applications',
    permission: 'application:create',
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: CreateApplication,
    nullIsAbsentExcept: [],
    examples: {
      rules: supportDesk,
      permissions: { name: 'Backend', type: 'private', permissions: ['token:create'], create_key: false },
    },
    reply: Application,
    status: 201,
    location: '/applications/:id',
  }),

  getOwnApplication: endpoint({
    id: 'getOwnApplication',
    summary: 'Read the application that the key belongs to',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/key',
    permission: 'any key',
    reply: Application,
    status: 200,
  }),

  getApplication: endpoint({
    id: 'getApplication',
    summary: 'Read an application',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id',
    permission: 'application:read',
    params: { id: applicationId },
    reply: Application,
    status: 200,
  }),

  updateApplication: endpoint({
    id: 'updateApplication',
    summary: "Change an application's name, permissions or rules",
    tag: 'Applications',
    method: 'PUT',
    path: '/applications/:id',
    permission: 'application:update',
    params: { id: applicationId },
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    body: UpdateApplication,
    nullIsAbsentExcept: [],
    examples: { rules: { name: supportDesk.name, rules: supportDesk.rules } },
    reply: Application,
    status: 200,
    problems: ['lastManagementKey'],
  }),

  deleteApplication: endpoint({
    id: 'deleteApplication',
    summary: 'Delete an application; its keys stop working at once',
    tag: 'Applications',
    method: 'DELETE',
    path: '/applications/:id',
    permission: 'application:delete',
    params: { id: applicationId },
    status: 204,
    problems: ['lastManagementKey', 'writeContention'],
  }),

  listApiKeys: endpoint({
    id: 'listApiKeys',
    summary: "List an application's keys, without their texts",
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id/keys',
    permission: 'application:read',
    params: { id: applicationId },
    reply: Type.Array(ApiKey),
    status: 200,
  }),

  createApiKey: endpoint({
    id: 'createApiKey',
    summary: 'Create a further key; its text is shown once',
    tag: 'Applications',
    method: 'POST',
    path: '/applications/:id/keys',
    permission: 'application:update',
    params: { id: applicationId },
    takesIdempotencyKey: true,
    bodyType: 'application/json',
    bodyIsOptional: true,
    body: CreateApiKey,
    nullIsAbsentExcept: [],
    examples: { expiring: { expires_at: '2099-12-31' } },
    reply: ApiKey,
    status: 201,
  }),

  getApiKey: endpoint({
    id: 'getApiKey',
    summary: 'Read a key, without its text',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:read',
    params: { id: applicationId, keyId },
    reply: ApiKey,
    status: 200,
  }),

  deleteApiKey: endpoint({
    id: 'deleteApiKey',
    summary: 'Revoke a key at once',
    tag: 'Applications',
    method: 'DELETE',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:update',
    params: { id: applicationId, keyId },
    status: 204,
    problems: ['lastManagementKey', 'writeContention'],
  }),

  explainAccess: endpoint({
    id: 'explainAccess',
    summary: 'Which rule decides for each container, and what the application would see',
    tag: 'Applications',
    method: 'POST',
    path: '/applications/:id/explain',
    permission: 'application:read',
    params: { id: applicationId },
    bodyType: 'application/json',
    body: ExplainAccess,
    nullIsAbsentExcept: [],
    examples: { read: { permission: 'token:read', containers: ['/general/high/'] } },
    reply: Explanation,
    status: 200,
  }),

  listPermissions: endpoint({
    id: 'listPermissions',
    summary: 'Every permission and the types of application that may hold it',
    tag: 'Applications',
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
    tag: 'Service',
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
    tag: 'Service',
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
    tag: 'Service',
    method: 'GET',
    path: '/openapi.json',
    permission: 'open',
    reply: anyJson(),
    status: 200,
  }),

  docs: endpoint({
    id: 'docs',
    summary: 'This interface as a page to read',
    tag: 'Service',
    method: 'GET',
    path: '/docs',
    permission: 'open',
    reply: Type.String(),
    replyType: 'text/html',
    status: 200,
  }),
}

export type EndpointId = keyof typeof endpoints
