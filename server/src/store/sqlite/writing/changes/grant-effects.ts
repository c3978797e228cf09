import type { DatabaseSync } from 'node:sqlite'
import { insertApiKey, insertApplication } from '../grant-inserts.ts'
import type { Effects } from './appliers.ts'

type GrantEffect =
  | 'putTenant'
  | 'deleteTenant'
  | 'putApplication'
  | 'deleteApplication'
  | 'putApiKey'
  | 'deleteApiKey'

/** Changes to who may do what. Each follows a `reviseTenant`, so none needs a condition of its own. */
export const grantEffects = (database: DatabaseSync): Effects<GrantEffect> => {
  const putTenant = database.prepare('UPDATE tenants SET sealed = ? WHERE tenant = ?')
  const deleteTenant = database.prepare('DELETE FROM tenants WHERE tenant = ?')
  const deleteTenantKeys = database.prepare('DELETE FROM tenant_keys WHERE tenant = ?')
  const deleteTenantApplications = database.prepare('DELETE FROM applications WHERE tenant = ?')
  const deleteTenantApiKeys = database.prepare('DELETE FROM api_keys WHERE tenant = ?')
  const buryTenant = database.prepare('INSERT INTO dead_tenants (tenant) VALUES (?) ON CONFLICT DO NOTHING')
  const putApplication = database.prepare(
    `${insertApplication} ON CONFLICT DO UPDATE SET sealed = excluded.sealed`,
  )
  const deleteApplication = database.prepare(
    'DELETE FROM applications WHERE tenant = ? AND application_id = ?',
  )
  const deleteApplicationKeys = database.prepare(
    'DELETE FROM api_keys WHERE tenant = ? AND application_id = ?',
  )
  const putApiKey = database.prepare(insertApiKey)
  const deleteApiKey = database.prepare(
    'DELETE FROM api_keys WHERE tenant = ? AND application_id = ? AND key_id = ?',
  )

  return {
    putTenant: (tenant, { sealed }) => {
      putTenant.run(sealed, tenant)
    },
    deleteTenant: tenant => {
      for (const statement of [
        deleteTenant,
        deleteTenantKeys,
        deleteTenantApplications,
        deleteTenantApiKeys,
        buryTenant,
      ])
        statement.run(tenant)
    },
    putApplication: (tenant, { id, sealed }) => {
      putApplication.run(tenant, id, sealed)
    },
    deleteApplication: (tenant, { id }) => {
      deleteApplication.run(tenant, id)
      deleteApplicationKeys.run(tenant, id)
    },
    putApiKey: (tenant, { row }) => {
      putApiKey.run(row.hash, tenant, row.id, row.applicationId, row.expiresAt, row.sealed)
    },
    deleteApiKey: (tenant, { applicationId, id }) => {
      deleteApiKey.run(tenant, applicationId, id)
    },
  }
}
