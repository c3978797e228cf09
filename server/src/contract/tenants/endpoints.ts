import { declareEndpoints } from '../endpoint.ts'
import { IndexReport, Tenant, UpdateTenant, UsageReport } from './schemas.ts'

export const tenantEndpoints = declareEndpoints({
  getTenant: {
    summary: "Read the key's tenant",
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self',
    permission: 'tenant:read',
    logs: { entityType: 'tenant' },
    reply: Tenant,
    status: 200,
  },

  updateTenant: {
    summary: "Change the tenant's name and settings",
    tag: 'Tenant',
    method: 'PUT',
    path: '/tenants/self',
    permission: 'tenant:update',
    logs: { entityType: 'tenant' },
    changes: true,
    body: UpdateTenant,
    nullIsAbsentExcept: [],
    examples: { settings: { name: 'Shop', settings: { deduplicate_tokens: 'true' } } },
    reply: Tenant,
    status: 200,
  },

  deleteTenant: {
    summary: 'Delete the tenant with everything in it and destroy its keys',
    description: 'From then on its API keys are answered with 401, a retry too.',
    tag: 'Tenant',
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    logs: { entityType: 'tenant' },
    changes: true,
    status: 204,
  },

  getUsage: {
    summary: 'How many tokens there are and how many were active this month',
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    logs: { entityType: 'report' },
    reply: UsageReport,
    status: 200,
  },

  getIndexReport: {
    summary: 'How much each search index and metadata key gives away',
    tag: 'Tenant',
    method: 'GET',
    path: '/tenants/self/reports/indexes',
    permission: 'report:read',
    logs: { entityType: 'report' },
    reply: IndexReport,
    status: 200,
  },
})
