import type { KeyProvider } from '../crypto/key-provider.ts'
import { newVaultKeys, type TenantKeys, unwrapTenantKeys, unwrapVaultKeys } from '../crypto/keys.ts'
import type { Instant } from '../domain/instant.ts'
import type { Store } from '../store/port.ts'
import type { Caller, CallerCache, TenantKeyring, Vault } from './vault.ts'

/** Unlocks storage with the key provider; new storage gets its keys here. */
export const openVault = async (parts: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
}): Promise<Vault> => {
  const { store, keyProvider } = parts
  let wrapped = await store.vaultKeys()
  if (wrapped.length === 0) wrapped = await store.ensureVaultKeys(await newVaultKeys(keyProvider))
  return {
    ...parts,
    vaultKeys: await unwrapVaultKeys(keyProvider, wrapped),
    tenantKeys: tenantKeyring(store, keyProvider),
    callers: callerCache(),
  }
}

/** Unwrapped once per tenant and process; a failed unwrapping is not remembered, so a provider can come back. */
const tenantKeyring = (store: Store, keyProvider: KeyProvider): TenantKeyring => {
  const unwrapped = new Map<number, { tenantId: string; keys: Promise<TenantKeys> }>()
  return {
    of: (tenantNumber, tenantId) => {
      const known = unwrapped.get(tenantNumber)
      if (known !== undefined) return known.keys
      const keys = store.tenantKeys(tenantNumber).then(rows => unwrapTenantKeys(keyProvider, tenantId, rows))
      unwrapped.set(tenantNumber, { tenantId, keys })
      keys.catch(() => unwrapped.delete(tenantNumber))
      return keys
    },
    forget: tenantNumber => {
      unwrapped.delete(tenantNumber)
    },
    loaded: () => [...unwrapped].map(([tenantNumber, { tenantId }]) => ({ tenantNumber, tenantId })),
  }
}

const callersMax = 1_000

/** Saves opening three sealed rows per request. Bounded by dropping everything: keys in use are back at once. */
const callerCache = (): CallerCache => {
  const callers = new Map<string, Caller>()
  return {
    get: keyHash => callers.get(keyHash),
    set: (keyHash, caller) => {
      if (callers.size >= callersMax) callers.clear()
      callers.set(keyHash, caller)
    },
    clear: () => callers.clear(),
  }
}
