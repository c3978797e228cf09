import { type KeyProvider, KeyProviderError } from '../crypto/key-provider.ts'
import { newVaultKeys, unwrapVaultKeys, type WrappedKey } from '../crypto/keys.ts'
import type { Instant } from '../domain/time/instant.ts'
import type { Store } from '../store/port.ts'
import { activityQueue } from './vault/activity-queue.ts'
import { callerCache } from './vault/caller-cache.ts'
import { keyUses } from './vault/key-uses.ts'
import { retryQueues } from './vault/retry-queues.ts'
import { tenantKeyring } from './vault/tenant-keyring.ts'
import type { Vault } from './vault/vault.ts'

/** Unlocks storage with the key provider; new storage gets its keys here. */
export const openVault = async ({
  store,
  keyProvider,
  clock,
  log = { info: () => {} },
}: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
  /** Commands have none. */
  log?: Vault['log']
}): Promise<Vault> => {
  return {
    store,
    keyProvider,
    clock,
    log,
    vaultKeys: await unwrapVaultKeys(keyProvider, await wrappedVaultKeys(store, keyProvider)),
    keyring: tenantKeyring(store, keyProvider),
    callers: callerCache(() => store.grantsEpoch()),
    activity: activityQueue(store),
    keyUses: keyUses(),
    retryQueues: retryQueues(),
    changesWaiting: { count: 0 },
  }
}

/** Storage that has tenants once had keys, and new ones would open nothing that those tenants stored. */
const wrappedVaultKeys = async (store: Store, keyProvider: KeyProvider): Promise<readonly WrappedKey[]> => {
  const found = await store.listVaultKeys()
  if (found.length > 0) return found
  // Another process may be creating both right now, keys before tenants, so the keys are read once more.
  const hasTenants = (await store.listTenants()).length > 0
  const foundNow = hasTenants
    ? await store.listVaultKeys()
    : await store.ensureVaultKeys(await newVaultKeys(keyProvider))
  if (foundNow.length === 0)
    throw new KeyProviderError(
      'the keys of the vault are gone from storage, though it has tenants: restore a backup',
    )
  return foundNow
}
