import { hashApiKey, isApiKey } from '../../crypto/api-key.ts'
import { isLive } from '../../domain/access/application.ts'
import { openApiKey, openApplication, openTenant } from '../grants/grant-rows.ts'
import { apiKeyName } from '../vault/caller-cache.ts'
import { keysUnlessDeleted } from '../vault/tenant-keyring.ts'
import type { KnownCaller, Vault } from '../vault/vault.ts'

/** The caller that holds this key, or undefined if the key is malformed, unknown, revoked or expired. */
export const authenticate = (
  vault: Vault,
  keyText: string,
  name = apiKeyName(keyText),
): KnownCaller | undefined | Promise<KnownCaller | undefined> => {
  const known = vault.callers.get(name)
  if (known?.apiKey !== undefined && isLive(known.apiKey, vault.clock())) return known
  return isApiKey(keyText) ? lookUp(vault, keyText, name) : undefined
}

const lookUp = async (vault: Vault, keyText: string, name: string): Promise<KnownCaller | undefined> => {
  const { store, vaultKeys } = vault
  const hash = hashApiKey(vaultKeys, keyText)
  const epoch = store.grantsEpoch()
  const key = await store.findApiKey(hash, vault.clock())
  if (key === undefined) return undefined
  const [tenant, application] = await Promise.all([
    store.getTenant(key.tenant),
    store.getApplication(key.tenant, key.applicationId),
  ])
  if (tenant === undefined || application === undefined) return undefined

  // Each row opens only under the identity it was sealed with, and it is opened as what was asked for, not as what it claims to
  // be. So a row that was forged, moved, or returned in place of another fails here.
  openApiKey(vaultKeys, { ...key, hash }, tenant.id)
  const keys = await keysUnlessDeleted(vault, tenant.tenant, tenant.id)
  if (keys === undefined) return undefined
  const caller: KnownCaller = {
    tenantNumber: tenant.tenant,
    tenant: openTenant(vaultKeys, tenant),
    application: openApplication(vaultKeys, { ...application, id: key.applicationId }, tenant.id),
    keys,
    apiKey: { id: key.id, hash, expiresAt: key.expiresAt },
    actor: { type: 'application', id: key.applicationId, keyId: key.id },
  }
  vault.callers.set(name, caller, epoch)
  return caller
}
