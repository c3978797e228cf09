import { viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'
import type { Tenant } from './tenant.ts'

/** §2.4: settings are strings that carry a boolean. */
export const viewTenant = (tenant: Tenant): JsonObject => ({
  id: tenant.id,
  owner_id: tenant.ownerId,
  name: tenant.name,
  settings: {
    fingerprint_tokens: String(tenant.settings.fingerprintTokens),
    deduplicate_tokens: String(tenant.settings.deduplicateTokens),
  },
  ...viewAuthorship(tenant),
})
