import { permissionsByType } from '../../domain/access/permissions.ts'
import { VaultError } from '../../domain/errors.ts'
import { openTenant } from '../grants/grant-rows.ts'
import type { Caller, Vault } from './vault.ts'

/**
 * The operator at the command line has the key provider. They act as the tenant's owner with every management permission, through
 * the same operations as an API key.
 */
export const operatorOf = async (vault: Vault, tenantId: string): Promise<Caller> => {
  const row = (await vault.store.listTenants()).find(({ id }) => id === tenantId)
  if (row === undefined) throw new VaultError('notFound', { detail: 'There is no such tenant.' })
  const tenant = openTenant(vault.vaultKeys, row)
  return {
    tenantNumber: row.tenant,
    tenant,
    application: {
      id: tenant.ownerId,
      tenantId: tenant.id,
      name: 'operator',
      type: 'management',
      permissions: permissionsByType.management,
      rules: [],
      createdBy: tenant.ownerId,
      createdAt: tenant.createdAt,
    },
    keys: await vault.keyring.of(row.tenant, row.id),
    apiKey: undefined,
    work: vault.scheduler.background('operator'),
  }
}
