import { type Authorship, viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'

export type TenantSettings = {
  readonly fingerprintTokens: boolean
  readonly deduplicateTokens: boolean
  /**
   * Whether a caller may name the destination of a request itself; tenants from before the proxy do not say. Then `token:use` is as
   * good as `reveal` (U11).
   */
  readonly ephemeralProxy?: boolean
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
    disable_ephemeral_proxy: String(!tenant.settings.ephemeralProxy),
  },
  ...viewAuthorship(tenant),
})
