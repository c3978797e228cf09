import type { KeyProvider } from '../crypto/key-provider.ts'
import { newVaultKeys, unwrapVaultKeys } from '../crypto/keys.ts'
import type { Instant } from '../domain/instant.ts'
import type { Store } from '../store/port.ts'
import { callerCache } from './grants/caller-cache.ts'
import { keyUses } from './grants/key-uses.ts'
import { tenantKeyring } from './grants/tenant-keyring.ts'
import { activityQueue } from './tokens/activity-queue.ts'
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
    changesWaiting: { count: 0 },
  }
}
