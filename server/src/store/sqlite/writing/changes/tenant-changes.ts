import type { DatabaseSync } from 'node:sqlite'
import { insertApiKey, insertApplication, insertTenantKey, slotFiller } from '../shared-statements.ts'
import { type Effects, type Guards, unlessChanged } from './appliers.ts'

type TenantGuard = 'insertTenantKey' | 'reviseTenant' | 'keepResult'

export const tenantGuards = (database: DatabaseSync): Guards<TenantGuard> => {
  const findTenantKey = database.prepare(
    'SELECT 1 FROM tenant_keys WHERE tenant = ? AND purpose = ? AND version = ?',
  )
  const insertKey = database.prepare(insertTenantKey)
  const slotWith = slotFiller(database)
  const reviseTenant = database.prepare(
    'UPDATE tenants SET revision = revision + 1 WHERE tenant = ? AND revision = ?',
  )
  const advanceEpoch = database.prepare('UPDATE grants_epoch SET epoch = epoch + 1 WHERE id = 1')
  const keepResult = database.prepare(
    `INSERT INTO results (tenant, hash, expires_at, sealed) VALUES (?,?,?,?)
     ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at, sealed = excluded.sealed
       WHERE expires_at <= ?`,
  )

  return {
    insertTenantKey: (tenant, { row }) => {
      // Checked before a slot is filled, because nothing would free a slot that no row names.
      if (findTenantKey.get(tenant, row.purpose, row.version) !== undefined) return 'keyExists'
      insertKey.run(tenant, row.purpose, row.version, slotWith(row.wrapped))
      advanceEpoch.run()
      return undefined
    },
    reviseTenant: (tenant, { ifRevision }) => {
      const conflict = unlessChanged(reviseTenant.run(tenant, ifRevision), 'tenantRevised')
      if (conflict === undefined) advanceEpoch.run()
      return conflict
    },
    keepResult: (tenant, { row, now }) =>
      unlessChanged(keepResult.run(tenant, row.hash, row.expiresAt, row.sealed, now), 'resultKept'),
  }
}

type GrantEffect =
  | 'putTenant'
  | 'deleteTenant'
  | 'putApplication'
  | 'deleteApplication'
  | 'putApiKey'
  | 'deleteApiKey'
  | 'putResource'
  | 'deleteResource'

/** Changes to who may do what. Each follows a `reviseTenant`, so none needs a condition of its own. */
export const grantEffects = (database: DatabaseSync): Effects<GrantEffect> => {
  const putTenant = database.prepare('UPDATE tenants SET sealed = ? WHERE tenant = ?')
  const deleteTenant = database.prepare('DELETE FROM tenants WHERE tenant = ?')
  const deleteTenantKeys = database.prepare('DELETE FROM tenant_keys WHERE tenant = ?')
  const deleteTenantApplications = database.prepare('DELETE FROM applications WHERE tenant = ?')
  const deleteTenantApiKeys = database.prepare('DELETE FROM api_keys WHERE tenant = ?')
  const deleteTenantResources = database.prepare('DELETE FROM resources WHERE tenant = ?')
  const markDead = database.prepare('INSERT INTO dead_tenants (tenant) VALUES (?) ON CONFLICT DO NOTHING')
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
  const putResource = database.prepare(
    `INSERT INTO resources (tenant, kind, resource_id, hash, sealed) VALUES (?,?,?,?,?)
     ON CONFLICT (tenant, kind, resource_id) DO UPDATE SET hash = excluded.hash, sealed = excluded.sealed`,
  )
  const deleteResource = database.prepare(
    'DELETE FROM resources WHERE tenant = ? AND kind = ? AND resource_id = ?',
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
        deleteTenantResources,
        markDead,
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
    putResource: (tenant, { row }) => {
      putResource.run(tenant, row.kind, row.id, row.hash, row.sealed)
    },
    deleteResource: (tenant, { of, id }) => {
      deleteResource.run(tenant, of, id)
    },
  }
}
