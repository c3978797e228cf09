import { evidenceKeys } from '../../crypto/evidence-keys.ts'
import { LogSeal } from '../../crypto/log-seal.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { type KeyProvider, KeyProviderError } from '../../keys/key-provider.ts'
import { newVaultKeys, vaultPurposes } from '../../keys/make-keys.ts'
import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import type { WrappedKey } from '../../keys/wrapped-key.ts'
import { type Outbound, openOutbound } from '../../outbound/outbound.ts'
import { standardOutbound } from '../../outbound/outbound-rules.ts'
import { Scheduler } from '../../scheduling/scheduler.ts'
import type { Anchor } from '../../store/anchor.ts'
import type { Store } from '../../store/port.ts'
import { callerCache } from '../keys/authenticate.ts'
import { ActLog } from '../log/act-log.ts'
import { Anchoring } from '../log/evidence/anchoring.ts'
import { Evidence } from '../log/evidence/evidence.ts'
import { inlineGrower, threadedGrower } from '../log/evidence/grower.ts'
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
  log = { info: () => {}, error: () => {} },
  anchors = [],
  growsOnThread = false,
  destinationPorts = new Set(),
  outbound = openOutbound(standardOutbound),
}: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
  scheduler?: Scheduler
  /** Commands have none. */
  log?: Vault['log']
  anchors?: readonly Anchor[]
  /** A server has requests to answer while the log's trees grow; commands have not. */
  growsOnThread?: boolean
  destinationPorts?: ReadonlySet<number>
  outbound?: Outbound
}): Promise<Vault> => {
  const vaultKeys = await unwrapVaultKeys(keyProvider, await wrappedVaultKeys(store, keyProvider))
  const seal = new LogSeal(vaultKeys.log)
  const keys = evidenceKeys(vaultKeys.checkpoints)
  const grower = growsOnThread ? threadedGrower(vaultKeys.log) : inlineGrower(seal)
  const evidence = new Evidence({ keys, store, clock, grower, log })
  return {
    store,
    keyProvider,
    clock,
    log,
    vaultKeys,
    acts: new ActLog({ store, seal, clock }),
    evidence,
    anchoring: new Anchoring(evidence, anchors, log),
    keyring: tenantKeyring(store, keyProvider),
    callers: callerCache(
      () => store.grantsEpoch(),
      () => scheduler.slice,
    ),
    proxies: callerCache(
      () => store.grantsEpoch(),
      () => scheduler.slice,
      proxiesMax,
    ),
    activity: activityQueue(store),
    keyUses: keyUses(),
    retryQueues: retryQueues(),
    scheduler,
    destinationPorts,
    outbound,
  }
}

/** A proxy may have 150 KB of configuration and transforms; most have less than one. */
const proxiesMax = 250

/** Storage with tenants once had keys. New keys could open nothing that those tenants stored. */
const wrappedVaultKeys = async (store: Store, keyProvider: KeyProvider): Promise<readonly WrappedKey[]> => {
  const found = await store.listVaultKeys()
  if (found.length > 0) return withLogKeys(store, keyProvider, found)
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

/** A vault from before there was a log gets its keys now. Where there is a log, new keys would open none of it. */
const withLogKeys = async (
  store: Store,
  keyProvider: KeyProvider,
  found: readonly WrappedKey[],
): Promise<readonly WrappedKey[]> => {
  const missing = vaultPurposes.filter(purpose => !found.some(key => key.purpose === purpose))
  if (missing.length === 0) return found
  if ((await store.newestCheckpoint()) !== undefined)
    throw new KeyProviderError('keys of the log are gone from storage: restore a backup')
  return store.ensureVaultKeys(await newVaultKeys(keyProvider, missing))
}
