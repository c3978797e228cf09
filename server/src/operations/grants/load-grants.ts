import type { ApiKeyGrant, Application } from '../../domain/access/application.ts'
import type { Tenant } from '../../domain/access/tenant.ts'
import { VaultError } from '../../domain/errors.ts'
import type { UsedApiKeyRow } from '../../store/rows.ts'
import type { Vault } from '../vault/vault.ts'
import { openApiKey, openApplication, openTenant } from './grant-rows.ts'

/** A tenant with all that it grants, as of one revision. */
export type Grants = {
  readonly tenant: Tenant
  readonly applications: readonly Application[]
  readonly apiKeys: readonly GrantedKey[]
}

export type GrantedKey = { readonly row: UsedApiKeyRow; readonly grant: ApiKeyGrant }

export const loadGrants = async (
  { store, vaultKeys }: Vault,
  { tenantNumber, tenant }: { readonly tenantNumber: number; readonly tenant: { readonly id: string } },
): Promise<{ grants: Grants; revision: number }> => {
  const row = await store.getTenant(tenantNumber)
  // The tenant was deleted, or storage was changed and another tenant has its number.
  if (row?.id !== tenant.id) throw new VaultError('unauthorized')
  const [applications, apiKeys] = await Promise.all([
    store.listApplications(tenantNumber),
    store.listApiKeys(tenantNumber),
  ])
  return {
    revision: row.revision,
    grants: {
      tenant: openTenant(vaultKeys, row),
      applications: applications.map(application => openApplication(vaultKeys, application, row.id)),
      apiKeys: apiKeys.map(key => ({ row: key, grant: openApiKey(vaultKeys, key, row.id) })),
    },
  }
}

export const applicationOf = ({ applications }: Grants, id: string): Application => {
  const found = applications.find(application => application.id === id)
  if (found === undefined) throw new VaultError('notFound')
  return found
}

export const isLive = ({ row }: GrantedKey, now: number): boolean =>
  row.expiresAt === null || row.expiresAt > now
