import type { ApiKeyGrant, Application } from '../../domain/access/application.ts'
import type { Tenant } from '../../domain/access/tenant.ts'
import type { Act } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import type { OutboundProxy } from '../../domain/proxies/proxy.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import type { UsedApiKeyRow } from '../../store/rows.ts'
import type { Vault } from '../vault/vault.ts'
import { openApiKey, openApplication, openTenant } from './grant-rows.ts'
import { openResources, type Resources, type Stored } from './resource-rows.ts'

/** A tenant with all that it grants, as of one revision. */
export type Grants = {
  readonly tenant: Tenant
  readonly applications: readonly Application[]
  readonly apiKeys: readonly GrantedKey[]
} & Resources

export type GrantedKey = { readonly row: UsedApiKeyRow; readonly grant: ApiKeyGrant }

type TenantInQuestion = { readonly tenantNumber: number; readonly tenant: { readonly id: string } }

/** The tenant as it is now, without its applications and keys. */
export const loadTenant = async (
  { store, vaultKeys }: Vault,
  { tenantNumber, tenant: { id } }: TenantInQuestion,
): Promise<{ tenant: Tenant; revision: number }> => {
  const row = await store.getTenant(tenantNumber)
  // The tenant was deleted, or somebody changed storage and another tenant has its number.
  if (row?.id !== id) throw new VaultError('unauthorized')
  return { tenant: openTenant(vaultKeys, row), revision: row.revision }
}

export const loadGrants = async (
  vault: Vault,
  of: TenantInQuestion,
): Promise<{ grants: Grants; revision: number }> => {
  const { store, vaultKeys } = vault
  const { tenant, revision } = await loadTenant(vault, of)
  const [applications, apiKeys, resources] = await Promise.all([
    store.listApplications(of.tenantNumber),
    store.listApiKeys(of.tenantNumber),
    store.listResources(of.tenantNumber),
  ])
  return {
    revision,
    grants: {
      tenant,
      applications: applications.map(application => openApplication(vaultKeys, application, tenant.id)),
      apiKeys: apiKeys.map(key => ({ row: key, grant: openApiKey(vaultKeys, key, tenant.id) })),
      ...openResources(vaultKeys, resources, tenant.id),
    },
  }
}

export const proxyIn = ({ proxies }: Grants, id: string, act?: Act): Stored<OutboundProxy> =>
  resourceIn(proxies, id, act)

export const webhookIn = ({ webhooks }: Grants, id: string, act?: Act): Stored<Webhook> =>
  resourceIn(webhooks, id, act)

const resourceIn = <R>(resources: readonly Stored<R>[], id: string, act: Act | undefined): Stored<R> => {
  const found = resources.find(({ row }) => row.id === id)
  if (found === undefined) throw new VaultError('notFound')
  act?.finds(id)
  return found
}

/** `act`: what is done is about this application, so its record names it. */
export const applicationOf = ({ applications }: Grants, id: string, act?: Act): Application => {
  const found = applications.find(application => application.id === id)
  if (found === undefined) throw new VaultError('notFound')
  act?.finds(id)
  return found
}
