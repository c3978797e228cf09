import { ApiKey, CreateApiKey } from '../applications/schemas.ts'
import { declareEndpoints } from '../endpoint.ts'
import { applicationId, keyId } from '../path-parameters.ts'
import { Type } from '../type.ts'

export const keyEndpoints = declareEndpoints({
  listApiKeys: {
    summary: "List an application's keys, without their texts",
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id/keys',
    permission: 'application:read',
    logs: { entityType: 'key' },
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
    logs: { entityType: 'key' },
    params: { id: applicationId },
    changes: true,
    bodyIsOptional: true,
    body: CreateApiKey,
    nullIsAbsentExcept: [],
    examples: { expiring: { expires_at: '2099-12-31' } },
    reply: ApiKey,
    replyExample: {
      id: keyId.example,
      key: 'key_private_…',
      expires_at: '2099-12-31T00:00:00.000+00:00',
      created_by: applicationId.example,
      created_at: '2026-03-01T12:00:00.000+00:00',
    },
    status: 201,
  },

  getApiKey: {
    summary: 'Read a key, without its text',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id/keys/:keyId',
    permission: 'application:read',
    logs: { entityType: 'key' },
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
    logs: { entityType: 'key' },
    changes: true,
    params: { id: applicationId, keyId },
    status: 204,
    problems: ['lastManagementKey'],
  },
})
