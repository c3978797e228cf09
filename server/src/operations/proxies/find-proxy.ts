import { hashApiKey, isProxyKey } from '../../crypto/api-key.ts'
import { openApplication, openTenant } from '../grants/grant-rows.ts'
import { openProxy } from '../grants/resource-rows.ts'
import { apiKeyName } from '../keys/authenticate.ts'
import { keysUnlessDeleted } from '../vault/tenant-keyring.ts'
import type { KnownProxy, Vault } from '../vault/vault.ts'

/**
 * The proxy that has this key, or undefined if the key is malformed or unknown. It is remembered like a caller, so a replaced key or a
 * deleted proxy is noticed as fast as a revoked API key (C27), and an unknown key costs what an unknown API key does (C30).
 */
export const findProxy = (
  vault: Vault,
  keyText: string,
): KnownProxy | undefined | Promise<KnownProxy | undefined> => {
  const name = apiKeyName(keyText)
  return vault.proxies.get(name) ?? (isProxyKey(keyText) ? lookUp(vault, keyText, name) : undefined)
}

const lookUp = async (vault: Vault, keyText: string, name: string): Promise<KnownProxy | undefined> => {
  const { store, vaultKeys } = vault
  const hash = hashApiKey(vaultKeys, keyText)
  const epoch = store.grantsEpoch()
  const row = await store.findResource('proxy', hash)
  if (row === undefined) return undefined
  const tenantRow = await store.getTenant(row.tenant)
  if (tenantRow === undefined) return undefined
  // Opened as what was asked for, not as what the row claims to be (authenticate.ts).
  const proxy = openProxy(vaultKeys, { ...row, hash }, tenantRow.id)
  const keys = await keysUnlessDeleted(vault, tenantRow.tenant, tenantRow.id)
  if (keys === undefined) return undefined
  const known = { tenantNumber: tenantRow.tenant, tenant: openTenant(vaultKeys, tenantRow), keys }
  const { applicationId } = proxy
  let lent: KnownProxy['lent']
  if (!proxy.requireAuth) {
    const application =
      applicationId === undefined ? undefined : await store.getApplication(row.tenant, applicationId)
    // Its application was deleted, and with it the rights that the proxy lent.
    if (application === undefined || applicationId === undefined) return undefined
    lent = {
      ...known,
      application: openApplication(vaultKeys, { ...application, id: applicationId }, tenantRow.id),
      apiKey: { id: proxy.id, hash, expiresAt: null },
      actor: { type: 'application', id: applicationId, keyId: proxy.id },
    }
  }
  const found: KnownProxy = { ...known, proxy, lent }
  vault.proxies.set(name, found, epoch)
  return found
}
