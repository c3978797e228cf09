import { viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'
import { formatInstant, type Instant } from '../time/instant.ts'
import { formatExpiry } from '../tokens/expiry.ts'
import type { ApiKeyGrant, Application } from './application.ts'

/** An application as answers show it, without the texts of its keys. */
export const viewApplication = (application: Application): JsonObject => ({
  id: application.id,
  tenant_id: application.tenantId,
  name: application.name,
  type: application.type,
  permissions: [...application.permissions],
  rules: application.rules.map(({ permissions, ...rule }) => ({ ...rule, permissions: [...permissions] })),
  ...viewAuthorship(application),
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
