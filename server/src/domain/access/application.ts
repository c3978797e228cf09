import { type Authorship, viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'
import { type DestinationPattern, formatDestinationPattern } from '../outbound/destination-pattern.ts'
import { type Expiry, formatExpiry } from '../time/date-time.ts'
import { formatInstant, type Instant } from '../time/instant.ts'
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
  /** Where `token:use` counts: for requests that go to one of these (U11). Without them, wherever they go. */
  readonly destinations?: readonly DestinationPattern[]
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

/** Whether a key has not expired. */
export const isLive = ({ expiresAt }: { readonly expiresAt: Instant | null }, now: Instant): boolean =>
  expiresAt === null || expiresAt > now

/** What an API key stands for; its text is shown once and kept nowhere (C29). */
export type ApiKeyGrant = {
  readonly createdBy: string
  readonly createdAt: Instant
  readonly expiry?: Expiry
}

/** An application as answers show it, without the texts of its keys. */
export const viewApplication = (application: Application): JsonObject => ({
  id: application.id,
  tenant_id: application.tenantId,
  name: application.name,
  type: application.type,
  permissions: [...application.permissions],
  rules: application.rules.map(viewRule),
  ...viewAuthorship(application),
})

export const viewRule = ({ permissions, destinations, ...rule }: Rule): JsonObject => ({
  ...rule,
  permissions: [...permissions],
  ...(destinations && { destinations: destinations.map(formatDestinationPattern) }),
})

export const viewApiKey = (id: string, grant: ApiKeyGrant, lastUsedAt: Instant | null): JsonObject => ({
  id,
  ...(grant.expiry && { expires_at: formatExpiry(grant.expiry) }),
  ...(lastUsedAt !== null && { last_used_at: formatInstant(lastUsedAt) }),
  created_by: grant.createdBy,
  created_at: formatInstant(grant.createdAt),
})

/** C33: a key's text appears only in the first answer; a replay says so. */
export const withoutKey = ({ key: _key, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  _extras: { key: 'shown once, in the first answer to this request' },
})

/** What the text of a key says about the application that it was made for (C30). */
export type KeyKind = ApplicationType | 'general'

const reading: readonly Permission[] = ['token:read', 'token:search']

/**
 * The application's type, or `general` for a private application that may read no token. So anyone who finds a key can see whether it
 * reads tokens. The kind is that of the moment when the key was made: later changes of permissions do not change a key's text.
 */
export const keyKindOf = ({
  type,
  permissions,
  rules,
}: Pick<Application, 'type' | 'permissions' | 'rules'>): KeyKind => {
  const held = [...permissions, ...rules.flatMap(rule => rule.permissions)]
  return type === 'private' && !held.some(permission => reading.includes(permission)) ? 'general' : type
}
