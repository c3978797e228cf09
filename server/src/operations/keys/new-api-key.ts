import { hashApiKey, newApiKeyText } from '../../crypto/api-key.ts'
import type { VaultKeys } from '../../crypto/keys.ts'
import { newUuid } from '../../crypto/uuid.ts'
import { type ApiKeyGrant, type Application, keyKindOf } from '../../domain/access/application.ts'
import type { ApiKeyRow } from '../../store/rows.ts'
import { sealApiKey } from '../grants/grant-rows.ts'

export type NewApiKey = {
  /** Shown once. Storage gets its hash. */
  readonly text: string
  readonly row: Omit<ApiKeyRow, 'tenant'>
}

/** Makes a key for an application. The key works once its row is stored. */
export const newApiKey = (
  vaultKeys: VaultKeys,
  application: Pick<Application, 'id' | 'tenantId' | 'type' | 'permissions' | 'rules'>,
  grant: ApiKeyGrant,
): NewApiKey => {
  const text = newApiKeyText(keyKindOf(application))
  const identity = {
    id: newUuid(),
    applicationId: application.id,
    hash: hashApiKey(vaultKeys, text),
    expiresAt: grant.expiry?.at ?? null,
  }
  return { text, row: { ...identity, sealed: sealApiKey(vaultKeys, identity, application.tenantId, grant) } }
}
