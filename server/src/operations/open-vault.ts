import type { KeyProvider } from '../crypto/key-provider.ts'
import { newVaultKeys, unwrapVaultKeys } from '../crypto/keys.ts'
import type { Instant } from '../domain/instant.ts'
import type { Store } from '../store/port.ts'
import { activityQueue } from './activity-queue.ts'
import { callerCache } from './caller-cache.ts'
import { keyUses } from './key-uses.ts'
import { tenantKeyring } from './tenant-keyring.ts'
import type { Vault } from './vault.ts'

/** Unlocks storage with the key provider; new storage gets its keys here. */
export const openVault = async ({
  store,
  keyProvider,
  clock,
}: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
}): Promise<Vault> => {
  let wrapped = await store.vaultKeys()
  if (wrapped.length === 0) wrapped = await store.ensureVaultKeys(await newVaultKeys(keyProvider))
  return {
    store,
    keyProvider,
    clock,
    vaultKeys: await unwrapVaultKeys(keyProvider, wrapped),
    tenantKeys: tenantKeyring(store, keyProvider),
    callers: callerCache(() => store.grantsEpoch()),
    activity: activityQueue(store),
    keyUses: keyUses(),
  }
}
