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
import { declareEndpoints } from './endpoint.ts'
import { listParameters } from './list-query.ts'
import { applicationId, keyId, tokenId } from './path-parameters.ts'
import { anyJson } from './schema.ts'
import { FoundTokens, SearchTokens, SearchTokensByCursor } from './search-schemas.ts'
import { IndexReport, Tenant, UpdateTenant, UsageReport } from './tenant-schemas.ts'
import { CreateToken, Token, TokenCursorPage, TokenPage, typeExamples, UpdateToken } from './token-schemas.ts'
import { Type } from './type.ts'

/** An example body for two endpoints: an application that sees tokens below one container, masked. */
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

/** Every endpoint of the vault. */
export const endpoints = declareEndpoints({
  tokenize: {
    summary: 'Turn every value of a payload into a token, all or nothing',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokenize',
    permission: 'token:create',
    changes: true,
    body: anyJson({
      description:
        'Strings, numbers and booleans become tokens, and so does an object with type and data: it is read as a CreateToken. Other objects and arrays are walked; null stays null.',
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
  },

  createToken: {
    summary: 'Create a token',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    changes: true,
    body: CreateToken,
    nullIsAbsentExcept: ['data'],
    foreignFields: ['token_intent_id', 'privacy', 'encrypted', 'encryption'],
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
  },

  listTokens: {
    summary: 'List tokens, newest first',
    tag: 'Tokens',
    method: 'GET',
    path: '/tokens',
    permission: 'token:read',
    isPage: true,
    query: listParameters,
    reply: TokenPage,
    status: 200,
  },

  listTokensByCursor: {
    summary: 'List tokens by cursor, newest first; all pages cost the same',
    tag: 'Tokens',
    method: 'GET',
    path: '/v2/tokens',
    permission: 'token:read',
    isPage: true,
    query: cursorParameters,
    reply: TokenCursorPage,
    status: 200,
  },

  searchTokens: {
    summary: 'Find tokens by a query, newest first',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokens/search',
    permission: 'token:search',
    isPage: true,
    body: SearchTokens,
    foreignFields: ['start'],
    nullIsAbsentExcept: [],
    examples: { query: { query: 'data:"ada@example.com" AND metadata.customer:8' } },
    reply: FoundTokens,
    status: 200,
  },

  searchTokensByCursor: {
    summary: 'Find tokens by a query and cursor, newest first; all pages cost the same',
    tag: 'Tokens',
    method: 'POST',
    path: '/v2/tokens/search',
    permission: 'token:search',
    isPage: true,
    body: SearchTokensByCursor,
    nullIsAbsentExcept: [],
    examples: { query: { query: 'type:token AND metadata.customer:8', size: 50 } },
    reply: TokenCursorPage,
    status: 200,
  },

  getToken: {
    summary: 'Read a token',
    tag: 'Tokens',
    method: 'GET',
    path: '/tokens/:id',
    permission: 'token:read',
    params: { id: tokenId },
    reply: Token,
    status: 200,
  },

  updateToken: {
    summary: 'Change parts of a token',
    tag: 'Tokens',
    method: 'PATCH',
    path: '/tokens/:id',
    permission: 'token:update',
    params: { id: tokenId },
    changes: true,
    bodyType: 'application/merge-patch+json',
    body: UpdateToken,
    foreignFields: ['token_intent_id', 'privacy', 'encrypted', 'encryption'],
    fixedFields: ['id', 'type', 'tenant_id'],
    examples: { metadata: { metadata: { verified: 'yes' } } },
    reply: Token,
    status: 200,
  },

  deleteToken: {
    summary: 'Delete a token',
    tag: 'Tokens',
    method: 'DELETE',
    path: '/tokens/:id',
    permission: 'token:delete',
    changes: true,
    params: { id: tokenId },
    status: 204,
  },

  getTenant: {
    summary: "Read the key's tenant",
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self',
    permission: 'tenant:read',
    reply: Tenant,
    status: 200,
  },

  updateTenant: {
    summary: "Change the tenant's name and settings",
    tag: 'Tenant',
    method: 'PUT',
    path: '/tenants/self',
    permission: 'tenant:update',
    changes: true,
    body: UpdateTenant,
    nullIsAbsentExcept: [],
    examples: { settings: { name: 'Shop', settings: { deduplicate_tokens: 'true' } } },
    reply: Tenant,
    status: 200,
  },

  deleteTenant: {
    summary: 'Delete the tenant with everything in it and destroy its keys',
    tag: 'Tenant',
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    changes: true,
    status: 204,
  },

  getUsage: {
    summary: 'How many tokens there are and how many were active this month',
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    reply: UsageReport,
    status: 200,
  },

  getIndexReport: {
    summary: 'How much each search index and metadata key gives away',
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self/reports/indexes',
    permission: 'report:read',
    reply: IndexReport,
    status: 200,
  },

  listApplications: {
    summary: 'List applications, newest first',
    tag: 'Applications',
    method: 'GET',
    path: '/applications',
    permission: 'application:read',
    query: applicationParameters,
    reply: ApplicationPage,
    status: 200,
  },

  createApplication: {
    summary: 'Create an application and, unless create_key is false, its first key',
    tag: 'Applications',
    method: 'POST',
    path: '/applications',
    permission: 'application:create',
    changes: true,
    body: CreateApplication,
    foreignFields: ['expires_at', 'rules.conditions'],
    nullIsAbsentExcept: [],
    examples: {
      rules: supportDesk,
      permissions: { name: 'Backend', type: 'private', permissions: ['token:create'], create_key: false },
    },
    reply: Application,
    status: 201,
    location: '/applications/:id',
  },

  getOwnApplication: {
    summary: 'Read the application that the key belongs to',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/key',
    permission: 'any key',
    reply: Application,
    status: 200,
  },

  getApplication: {
    summary: 'Read an application',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id',
    permission: 'application:read',
    params: { id: applicationId },
    reply: Application,
    status: 200,
  },

  updateApplication: {
    summary: "Change an application's name, permissions or rules",
    tag: 'Applications',
    method: 'PUT',
    path: '/applications/:id',
    permission: 'application:update',
    params: { id: applicationId },
    changes: true,
    body: UpdateApplication,
    foreignFields: ['expires_at', 'rules.conditions'],
    nullIsAbsentExcept: [],
    examples: { rules: { name: supportDesk.name, rules: supportDesk.rules } },
    reply: Application,
    status: 200,
    problems: ['lastManagementKey'],
  },

  deleteApplication: {
    summary: 'Delete an application; its keys stop working at once',
    tag: 'Applications',
    method: 'DELETE',
    path: '/applications/:id',
    permission: 'application:delete',
    changes: true,
    params: { id: applicationId },
    status: 204,
    problems: ['lastManagementKey'],
  },

  listApiKeys: {
    summary: "List an application's keys, without their texts",
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id/keys',
    permission: 'application:read',
    params: { id: applicationId },
    reply: Type.Array(ApiKey),
    status: 200,
  },

  createApiKey: {
    summary: 'Create a further key; its text is shown once',
    tag: 'Applications',
    method: 'POST',
    path: '/applications/:id/keys',
    permission: 'application:update',
    params: { id: applicationId },
    changes: true,
    bodyIsOptional: true,
    body: CreateApiKey,
    nullIsAbsentExcept: [],
    examples: { expiring: { expires_at: '2099-12-31' } },
    reply: ApiKey,
    status: 201,
  },

  getApiKey: {
    summary: 'Read a key, without its text',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:read',
    params: { id: applicationId, keyId },
    reply: ApiKey,
    status: 200,
  },

  deleteApiKey: {
    summary: 'Revoke a key at once',
    tag: 'Applications',
    method: 'DELETE',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:update',
    changes: true,
    params: { id: applicationId, keyId },
    status: 204,
    problems: ['lastManagementKey'],
  },

  explainAccess: {
    summary: 'Which rule decides for each container, and what the application would see',
    tag: 'Applications',
    method: 'POST',
    path: '/applications/:id/explain',
    permission: 'application:read',
    params: { id: applicationId },
    body: ExplainAccess,
    nullIsAbsentExcept: [],
    examples: { read: { permission: 'token:read', containers: ['/general/high/'] } },
    reply: Explanation,
    status: 200,
  },

  listPermissions: {
    summary: 'Every permission and the types of application that may hold it',
    tag: 'Applications',
    method: 'GET',
    path: '/permissions',
    permission: 'any key',
    query: permissionParameters,
    reply: Type.Array(PermissionEntry),
    status: 200,
  },

  health: {
    summary: 'Is the process up?',
    tag: 'Service',
    method: 'GET',
    path: '/health',
    permission: 'open',
    isProbe: true,
    reply: Type.Object({ status: Type.Literal('up') }),
    status: 200,
  },

  ready: {
    summary: 'Do storage and the key service answer?',
    tag: 'Service',
    method: 'GET',
    path: '/ready',
    permission: 'open',
    isProbe: true,
    reply: Type.Object({ status: Type.Literal('ready') }),
    status: 200,
    problems: ['unavailable'],
  },

  openapi: {
    summary: 'This interface as an OpenAPI document',
    tag: 'Service',
    method: 'GET',
    path: '/openapi.json',
    permission: 'open',
    reply: anyJson(),
    status: 200,
  },

  docs: {
    summary: 'This interface as a page to read',
    tag: 'Service',
    method: 'GET',
    path: '/docs',
    permission: 'open',
    reply: Type.String(),
    replyType: 'text/html',
    status: 200,
  },
})

export type EndpointId = keyof typeof endpoints
