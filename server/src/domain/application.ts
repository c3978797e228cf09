import type { Authorship } from './authorship.ts'
import type { Expiry } from './expiry.ts'
import type { Instant } from './instant.ts'
import type { ApplicationType, Permission } from './permissions.ts'

/** How much of a token's data a caller sees, from most to least. */
export type Transform = 'reveal' | 'mask' | 'redact'

export type Rule = {
  readonly description?: string
  /** Smaller decides first; unique within an application. */
  readonly priority: number
  readonly container: string
  readonly transform: Transform
  readonly permissions: readonly Permission[]
}

/** Who calls. An application holds either flat permissions or rules (C28); `rules` are kept by priority. */
export type Application = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly type: ApplicationType
  readonly permissions: readonly Permission[]
  readonly rules: readonly Rule[]
} & Authorship

/** What an API key stands for; its text is shown once and kept nowhere (C29). */
export type ApiKeyGrant = {
  readonly createdBy: string
  readonly createdAt: Instant
  readonly expiry?: Expiry
}
