import { hash as plainHash } from 'node:crypto'
import { hashApiKey, isApiKey } from '../../crypto/api-key.ts'
import { isLive } from '../../domain/access/application.ts'
import { Memo } from '../../domain/memo.ts'
import { openApiKey, openApplication, openTenant } from '../grants/grant-rows.ts'
import { keysUnlessDeleted } from '../vault/tenant-keyring.ts'
import type { CallerCache, KnownCaller, Vault } from '../vault/vault.ts'

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

  // Each row opens only under the identity that it was sealed with, and it is opened as the row that was asked for, not as the
  // row that it claims to be. So a row that was forged, moved or swapped fails here.
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

/** About 20 MiB. If more keys are in use, some are looked up again, at 0.1 ms each. */
const callersMax = 10_000

/**
 * A key is looked up under a plain hash, so the text of a key does not outlive its request in memory. It has 208 random bits, so
 * nobody can guess it from the hash. This hash takes 1 µs; the keyed hash of storage takes 4.
 */
export const apiKeyName = (keyText: string): string => plainHash('sha256', keyText)

/** Saves each request from opening three sealed rows. */
export const callerCache = <Caller extends { readonly tenantNumber: number }>(
  epoch: () => number,
  /** The slice that is running. All its requests arrived before it began, so it needs to read the epoch only once. */
  slice: () => number | undefined = () => undefined,
  most = callersMax,
): CallerCache<Caller> => {
  const callers = new Memo<Caller>(most)
  // Kept when grants change. Otherwise a tenant that keeps changing grants would turn all other callers into strangers.
  const tenants = new Memo<number>(most)
  let seen: number | undefined
  let seenIn: number | undefined
  const forgetIfChanged = (): void => {
    const current = slice()
    if (current !== undefined && current === seenIn) return
    const now = epoch()
    seenIn = current
    if (now === seen) return
    seen = now
    callers.clear()
  }
  return {
    forgetIfChanged,
    get: name => {
      forgetIfChanged()
      return callers.get(name)
    },
    lastTenant: name => tenants.get(name),
    set: (name, caller, asOf) => {
      tenants.set(name, caller.tenantNumber)
      forgetIfChanged()
      if (asOf === seen) callers.set(name, caller)
    },
  }
}
