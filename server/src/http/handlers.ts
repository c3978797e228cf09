import { readApplicationListQuery, readPermissionQuery } from '../contract/application-query.ts'
import { readCursorQuery } from '../contract/cursor-query.ts'
import type { EndpointId } from '../contract/endpoints.ts'
import { readListQuery } from '../contract/list-query.ts'
import { checkReady } from '../operations/check-ready.ts'
import { createApiKey } from '../operations/create-api-key.ts'
import { createApplication } from '../operations/create-application.ts'
import { createToken } from '../operations/create-token.ts'
import { deleteApiKey } from '../operations/delete-api-key.ts'
import { deleteApplication } from '../operations/delete-application.ts'
import { deleteTenant } from '../operations/delete-tenant.ts'
import { deleteToken } from '../operations/delete-token.ts'
import { explainAccess } from '../operations/explain-access.ts'
import { getApiKey } from '../operations/get-api-key.ts'
import { getApplication } from '../operations/get-application.ts'
import { getIndexReport } from '../operations/get-index-report.ts'
import { getTenant } from '../operations/get-tenant.ts'
import { getToken } from '../operations/get-token.ts'
import { getUsage } from '../operations/get-usage.ts'
import { listApiKeys } from '../operations/list-api-keys.ts'
import { listApplications } from '../operations/list-applications.ts'
import { listPermissions } from '../operations/list-permissions.ts'
import { listTokens } from '../operations/list-tokens.ts'
import { listTokensByCursor } from '../operations/list-tokens-by-cursor.ts'
import { searchTokens } from '../operations/search-tokens.ts'
import { searchTokensByCursor } from '../operations/search-tokens-by-cursor.ts'
import { tokenize } from '../operations/tokenize.ts'
import { updateApplication } from '../operations/update-application.ts'
import { updateTenant } from '../operations/update-tenant.ts'
import { updateToken } from '../operations/update-token.ts'
import { type Answer, type Call, jsonContentType, ReadyText } from './call.ts'

export type Handlers = { readonly [K in EndpointId]: (call: Call<K>) => Promise<Answer> }

const nothing = async (done: Promise<void>): Promise<undefined> => {
  await done
  return undefined
}

/** Loaded on demand, because startup does not need it. */
const documentation = () => import('./docs/documentation.ts')

/** Which operation answers which endpoint. */
export const handlers: Handlers = {
  tokenize: ({ vault, caller, body }) => tokenize(vault, caller, body),
  createToken: ({ vault, caller, body }) => createToken(vault, caller, body),
  listTokens: async ({ vault, caller, query }) => listTokens(vault, caller, readListQuery(query)),
  listTokensByCursor: async ({ vault, caller, query }) =>
    listTokensByCursor(vault, caller, readCursorQuery(query)),
  searchTokens: ({ vault, caller, body }) => searchTokens(vault, caller, body),
  searchTokensByCursor: ({ vault, caller, body }) => searchTokensByCursor(vault, caller, body),
  getToken: ({ vault, caller, params }) => getToken(vault, caller, params.id),
  updateToken: ({ vault, caller, params, body }) => updateToken(vault, caller, params.id, body),
  deleteToken: ({ vault, caller, params }) => nothing(deleteToken(vault, caller, params.id)),

  getTenant: ({ vault, caller }) => getTenant(vault, caller),
  updateTenant: ({ vault, caller, body }) => updateTenant(vault, caller, body),
  deleteTenant: ({ vault, caller }) => nothing(deleteTenant(vault, caller)),
  getUsage: ({ vault, caller }) => getUsage(vault, caller),
  getIndexReport: ({ vault, caller }) => getIndexReport(vault, caller),

  listApplications: async ({ vault, caller, query }) =>
    listApplications(vault, caller, readApplicationListQuery(query)),
  createApplication: ({ vault, caller, body }) => createApplication(vault, caller, body),
  getOwnApplication: ({ vault, caller }) => getApplication(vault, caller, caller.application.id),
  getApplication: ({ vault, caller, params }) => getApplication(vault, caller, params.id),
  updateApplication: ({ vault, caller, params, body }) => updateApplication(vault, caller, params.id, body),
  deleteApplication: ({ vault, caller, params }) => nothing(deleteApplication(vault, caller, params.id)),
  listApiKeys: ({ vault, caller, params }) => listApiKeys(vault, caller, params.id),
  createApiKey: ({ vault, caller, params, body }) => createApiKey(vault, caller, params.id, body),
  getApiKey: ({ vault, caller, params }) => getApiKey(vault, caller, params.id, params.keyId),
  deleteApiKey: ({ vault, caller, params }) => nothing(deleteApiKey(vault, caller, params.id, params.keyId)),
  explainAccess: ({ vault, caller, params, body }) => explainAccess(vault, caller, params.id, body),
  listPermissions: async ({ query }) => listPermissions(readPermissionQuery(query)),

  health: async () => ({ status: 'up' }),
  ready: async ({ vault }) => {
    await checkReady(vault)
    return { status: 'ready' }
  },
  openapi: async ({ headerPrefix }) => {
    const { openApiText } = await documentation()
    return new ReadyText(jsonContentType, openApiText(headerPrefix))
  },
  docs: async ({ headerPrefix }) => {
    const { docsText } = await documentation()
    return new ReadyText('text/html; charset=utf-8', docsText(headerPrefix), {
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    })
  },
}
