import { hashApiKey, isApiKey } from '../crypto/api-key.ts'
import { commitSet } from './commit.ts'
import { openApiKey, openApplication, openTenant } from './grants.ts'
import type { Caller, Vault } from './vault.ts'

/** Who holds this key; undefined for a key that is malformed, unknown, revoked or expired. */
export const authenticate = (
  vault: Vault,
  keyText: string,
): Caller | undefined | Promise<Caller | undefined> => {
  if (!isApiKey(keyText)) return undefined
  const hash = hashApiKey(vault.vaultKeys, keyText)
  const name = hash.toString('base64')
  const known = vault.callers.get(name)
  if (known === undefined) return lookUp(vault, hash, name)
  const { expiresAt } = known.apiKey
  return expiresAt === null || expiresAt > vault.clock() ? known : lookUp(vault, hash, name)
}

const lookUp = async (vault: Vault, hash: Buffer, name: string): Promise<Caller | undefined> => {
  const { store, vaultKeys } = vault
  const epoch = store.grantsEpoch()
  const key = await store.findApiKey(hash, vault.clock())
  if (key === undefined) return undefined
  const [tenant, application] = await Promise.all([
    store.getTenant(key.tenant),
    store.getApplication(key.tenant, key.applicationId),
  ])
  if (tenant === undefined || application === undefined) return undefined

  // Each row opens only where it was written, so a forged or moved row stops here.
  openApiKey(vaultKeys, key, tenant.id)
  const caller: Caller = {
    tenantNumber: tenant.tenant,
    tenant: openTenant(vaultKeys, tenant),
    application: openApplication(vaultKeys, application, tenant.id),
    keys: await vault.tenantKeys.of(tenant.tenant, tenant.id),
    apiKey: { hash, expiresAt: key.expiresAt },
    commit: set => commitSet(store, set),
  }
  vault.callers.set(name, caller, epoch)
  return caller
}
