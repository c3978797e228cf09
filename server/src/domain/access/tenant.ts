import type { Authorship } from '../authorship.ts'

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
