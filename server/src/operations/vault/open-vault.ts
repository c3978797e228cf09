import type { Instant } from '../../domain/time/instant.ts'
import { type KeyProvider, KeyProviderError } from '../../keys/key-provider.ts'
import { newVaultKeys } from '../../keys/make-keys.ts'
import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import type { WrappedKey } from '../../keys/wrapped-key.ts'
import { Scheduler } from '../../scheduling/scheduler.ts'
import type { Store } from '../../store/port.ts'
import { callerCache } from '../keys/authenticate.ts'
import { activityQueue } from './activity-queue.ts'
import { keyUses } from './key-uses.ts'
import { retryQueues } from './retry-queues.ts'
import { tenantKeyring } from './tenant-keyring.ts'
import type { Vault } from './vault.ts'

/** Unlocks storage with the key provider. New storage gets its keys here. */
export const openVault = async ({
  store,
  keyProvider,
  clock,
  scheduler = new Scheduler(),
  log = { info: () => {} },
}: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
  scheduler?: Scheduler
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
    callers: callerCache(
      () => store.grantsEpoch(),
      () => scheduler.slice,
    ),
    activity: activityQueue(store),
    keyUses: keyUses(),
    retryQueues: retryQueues(),
    scheduler,
  }
}

/** Storage with tenants once had keys. New keys could open nothing that those tenants stored. */
const wrappedVaultKeys = async (store: Store, keyProvider: KeyProvider): Promise<readonly WrappedKey[]> => {
  const found = await store.listVaultKeys()
  if (found.length > 0) return found
  // Another process may be creating both right now, keys before tenants. So the keys are read once more.
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
