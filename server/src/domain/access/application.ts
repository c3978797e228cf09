import type { Authorship } from '../authorship.ts'
import type { Instant } from '../time/instant.ts'
import type { Expiry } from '../tokens/expiry.ts'
import type { Transform } from '../tokens/transform.ts'
import type { ApplicationType, Permission } from './permissions.ts'

export type Rule = {
  readonly description?: string
  /** Smaller decides first; unique within an application. */
  readonly priority: number
  readonly container: string
  readonly transform: Transform
  readonly permissions: readonly Permission[]
}

/** A caller. An application holds either flat permissions or rules (C28); `rules` are sorted by priority. */
export type Application = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly type: ApplicationType
  readonly permissions: readonly Permission[]
  readonly rules: readonly Rule[]
} & Authorship

/** Whether a key still counts: it has not expired. */
export const isLive = ({ expiresAt }: { readonly expiresAt: Instant | null }, now: Instant): boolean =>
  expiresAt === null || expiresAt > now

/** What an API key stands for; its text is shown once and kept nowhere (C29). */
export type ApiKeyGrant = {
  readonly createdBy: string
  readonly createdAt: Instant
  readonly expiry?: Expiry
}
