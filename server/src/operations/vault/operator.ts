import { permissionsByType } from '../../domain/access/permissions.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import { openTenant } from '../grants/grant-rows.ts'
import { operatorAct, recorded, recordedForOperator } from '../log/acting.ts'
import type { Caller, Vault } from './vault.ts'

/**
 * The operator at the command line, who has the key provider, acts as the tenant's owner: with every management permission,
 * through the same operations as an API key. What is done is recorded, and so is that there is no such tenant.
 */
export const asOperator = async <T>(
  vault: Vault,
  tenantId: string,
  kind: ActKind,
  work: (operator: Caller) => Promise<T>,
): Promise<T> => {
  const row = (await vault.store.listTenants()).find(({ id }) => id === tenantId)
  if (row === undefined)
    return recordedForOperator(vault, kind, async () => {
      throw new VaultError('notFound', { detail: 'There is no such tenant.' })
    })
  const tenant = openTenant(vault.vaultKeys, row)
  const act = operatorAct(kind)
  const caller: Caller = {
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
    actor: act.actor,
    work: vault.scheduler.background('operator'),
    act,
  }
  return recorded(vault, caller, act, () => work(caller))
}
