import { grantFaults } from '../../domain/access/application-definition.ts'
import { declareEndpoints } from '../endpoint.ts'
import { applicationId } from '../path-parameters.ts'
import { Type } from '../type.ts'
import { applicationParameters, permissionParameters } from './query.ts'
import {
  Application,
  ApplicationPage,
  CreateApplication,
  ExplainAccess,
  Explanation,
  PermissionEntry,
  UpdateApplication,
} from './schemas.ts'

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

export const applicationEndpoints = declareEndpoints({
  listApplications: {
    summary: 'List applications, newest first',
    tag: 'Applications',
    method: 'GET',
    path: '/applications',
    permission: 'application:read',
    logs: { entityType: 'application' },
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
    logs: { entityType: 'application' },
    changes: true,
    body: CreateApplication,
    furtherFaults: grantFaults,
    foreignFields: ['expires_at', 'rules.conditions'],
    nullIsAbsentExcept: [],
    examples: {
      rules: supportDesk,
      permissions: { name: 'Backend', type: 'private', permissions: ['token:create'], create_key: false },
    },
    reply: Application,
    replyExample: {
      id: applicationId.example,
      tenant_id: '019c9f1e-6a00-7000-8000-0d2b6d0c5a10',
      ...supportDesk,
      permissions: [],
      key: 'key_private_…',
      created_by: applicationId.example,
      created_at: '2026-03-01T12:00:00.000+00:00',
    },
    status: 201,
    location: '/applications/:id',
  },

  getOwnApplication: {
    summary: 'Read the application that the key belongs to',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/key',
    permission: 'any key',
    logs: { entityType: 'application' },
    reply: Application,
    status: 200,
  },

  getApplication: {
    summary: 'Read an application',
    tag: 'Applications',
    method: 'GET',
    path: '/applications/:id',
    permission: 'application:read',
    logs: { entityType: 'application' },
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
    logs: { entityType: 'application' },
    params: { id: applicationId },
    changes: true,
    body: UpdateApplication,
    furtherFaults: grantFaults,
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
    logs: { entityType: 'application' },
    changes: true,
    params: { id: applicationId },
    status: 204,
    problems: ['lastManagementKey'],
  },

  explainAccess: {
    summary: 'Which rule decides for each container, and what the application would see',
    tag: 'Applications',
    method: 'POST',
    path: '/applications/:id/explain',
    permission: 'application:read',
    logs: { entityType: 'application' },
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
    logs: { entityType: 'application' },
    query: permissionParameters,
    reply: Type.Array(PermissionEntry),
    status: 200,
  },
})
