import type { DatabaseSync } from 'node:sqlite'
import { insertTenantKey } from '../grant-inserts.ts'
import { slotFiller } from '../slots.ts'
import { type Guards, unlessChanged } from './appliers.ts'

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
      // Checked before a slot is filled: a slot filled in vain would stay filled.
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
