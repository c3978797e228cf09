import { hashApiKey, isApiKey } from '../crypto/api-key.ts'
import { openApiKey, openApplication, openTenant } from './grants.ts'
import type { Caller, Vault } from './vault.ts'

/** Who holds this key; undefined for a key that is malformed, unknown or revoked. */
export const authenticate = (
  vault: Vault,
  keyText: string,
): Caller | undefined | Promise<Caller | undefined> => {
  if (!isApiKey(keyText)) return undefined
  const hash = hashApiKey(vault.vaultKeys, keyText)
  const name = hash.toString('base64')
  return vault.callers.get(name) ?? lookUp(vault, hash, name)
}

const lookUp = async (vault: Vault, hash: Buffer, name: string): Promise<Caller | undefined> => {
  const { store, vaultKeys } = vault
  const key = await store.findApiKey(hash)
  const tenantRow = key && (await store.getTenant(key.tenant))
  const applicationRow = key && (await store.getApplication(key.tenant, key.applicationId))
  if (tenantRow === undefined || applicationRow === undefined) return undefined

  // Each row opens only where it was written, so a forged or moved row stops here.
  openApiKey(vaultKeys, key as NonNullable<typeof key>, tenantRow.id)
  const caller: Caller = {
    tenantNumber: tenantRow.tenant,
    tenant: openTenant(vaultKeys, tenantRow),
    application: openApplication(vaultKeys, applicationRow, tenantRow.id),
    keys: await vault.tenantKeys.of(tenantRow.tenant, tenantRow.id),
  }
  vault.callers.set(name, caller)
  return caller
}
