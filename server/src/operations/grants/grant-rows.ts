import { openGrant, sealGrant } from '../../crypto/grant-seal.ts'
import type { VaultKeys } from '../../crypto/keys.ts'
import type { ApiKeyGrant, Application } from '../../domain/access/application.ts'
import type { Tenant } from '../../domain/access/tenant.ts'
import type { ApiKeyRow, ApplicationRow, TenantRow } from '../../store/rows.ts'

/** Seals tenants, applications and API keys into rows, and opens them. Each seal is bound to what its row is found by. */
export const sealTenant = (keys: VaultKeys, tenant: Tenant): Buffer =>
  sealGrant(keys, 'tenant', [tenant.id], tenant)

export const openTenant = (keys: VaultKeys, row: TenantRow): Tenant =>
  openGrant(keys, 'tenant', [row.id], row.sealed)

export const sealApplication = (keys: VaultKeys, application: Application): Buffer =>
  sealGrant(keys, 'application', [application.id, application.tenantId], application)

export const openApplication = (keys: VaultKeys, row: ApplicationRow, tenantId: string): Application =>
  openGrant(keys, 'application', [row.id, tenantId], row.sealed)

type ApiKeyIdentity = Pick<ApiKeyRow, 'id' | 'applicationId' | 'hash' | 'expiresAt'>

/** The seal of an API key is bound to its hash, so the row of one key cannot lend its rights to another. */
const apiKeyIdentity = (row: ApiKeyIdentity, tenantId: string) => [
  row.id,
  tenantId,
  row.applicationId,
  Buffer.from(row.hash).toString('hex'),
  row.expiresAt,
]

export const sealApiKey = (
  keys: VaultKeys,
  row: ApiKeyIdentity,
  tenantId: string,
  grant: ApiKeyGrant,
): Buffer => sealGrant(keys, 'api-key', apiKeyIdentity(row, tenantId), grant)

export const openApiKey = (keys: VaultKeys, row: ApiKeyRow, tenantId: string): ApiKeyGrant =>
  openGrant(keys, 'api-key', apiKeyIdentity(row, tenantId), row.sealed)
