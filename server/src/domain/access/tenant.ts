import { type Authorship, viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'

export type TenantSettings = {
  readonly fingerprintTokens: boolean
  readonly deduplicateTokens: boolean
}

export type Tenant = {
  readonly id: string
  readonly ownerId: string
  readonly name: string
  readonly settings: TenantSettings
  /** What the operator's plan includes (C32). */
  readonly includedMonthlyActiveTokens: number
} & Authorship

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
