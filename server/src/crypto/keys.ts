import { createSecretKey, type KeyObject } from 'node:crypto'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { randomBytes } from './random.ts'

/** A key as storage keeps it: readable only through the key provider. */
export type WrappedKey = { readonly purpose: string; readonly version: number; readonly wrapped: Uint8Array }

/** Keys of the vault itself: one hashes API keys, the other seals the rows that grant access. */
export type VaultKeys = { readonly apiKeys: KeyObject; readonly grants: KeyObject }

/** Keys of one tenant, unwrapped. They live in memory only. */
export type TenantKeys = {
  readonly tenantId: string
  /** Seals rows. New rows use the current version, old rows open with the version that sealed them. */
  readonly data: ReadonlyMap<number, KeyObject>
  readonly currentDataVersion: number
  /** Hashes the terms that tokens are found by. */
  readonly index: KeyObject
  /** Never rotated: a fingerprint is for ever (C14). */
  readonly fingerprint: KeyObject
}

/** Owns the keys of the vault itself, as a tenant's id owns the tenant's. */
export const vaultOwner = 'vault'
const vaultPurposes = ['api-keys', 'grants'] as const
const tenantPurposes = ['data', 'index', 'fingerprint'] as const

const context = (owner: string, purpose: string, version: number): string =>
  `strongroom/${owner}/${purpose}/${version}`

export const newWrappedKey = async (
  provider: KeyProvider,
  owner: string,
  purpose: string,
  version: number,
): Promise<WrappedKey> => {
  const key = randomBytes(32)
  const wrapped = await provider.wrap(key, context(owner, purpose, version))
  key.fill(0)
  return { purpose, version, wrapped }
}

export const newVaultKeys = (provider: KeyProvider): Promise<WrappedKey[]> =>
  Promise.all(vaultPurposes.map(purpose => newWrappedKey(provider, vaultOwner, purpose, 1)))

export const newTenantKeys = (provider: KeyProvider, tenantId: string): Promise<WrappedKey[]> =>
  Promise.all(tenantPurposes.map(purpose => newWrappedKey(provider, tenantId, purpose, 1)))

/** Whether the key is under the master key that wraps new ones. */
export const isWrappedAsNew = (
  provider: KeyProvider,
  owner: string,
  { purpose, version, wrapped }: WrappedKey,
): Promise<boolean> => provider.isCurrent(wrapped, context(owner, purpose, version))

/** Whether an older master key opens it. A key that does not open at all needs none: no master key here would help. */
export const needsOlderMasterKey = async (
  provider: KeyProvider,
  owner: string,
  key: WrappedKey,
): Promise<boolean> => {
  if (await isWrappedAsNew(provider, owner, key)) return false
  try {
    const opened = await provider.unwrap(key.wrapped, context(owner, key.purpose, key.version))
    opened.fill(0)
    return true
  } catch (error) {
    if (error instanceof KeyProviderError) return false
    throw error
  }
}

/** The same key, under the master key that wraps new ones. */
export const rewrap = async (
  provider: KeyProvider,
  owner: string,
  { purpose, version, wrapped }: WrappedKey,
): Promise<Buffer> => {
  const key = await provider.unwrap(wrapped, context(owner, purpose, version))
  const again = await provider.wrap(key, context(owner, purpose, version))
  key.fill(0)
  return again
}

type UnwrappedKey = { purpose: string; version: number; key: KeyObject }

const unwrapAll = (
  provider: KeyProvider,
  owner: string,
  keys: readonly WrappedKey[],
): Promise<UnwrappedKey[]> =>
  Promise.all(
    keys.map(async ({ purpose, version, wrapped }) => {
      const bytes = await provider.unwrap(wrapped, context(owner, purpose, version))
      const key = createSecretKey(bytes)
      bytes.fill(0)
      return { purpose, version, key }
    }),
  )

const newest = (keys: readonly UnwrappedKey[], owner: string, purpose: string): UnwrappedKey => {
  const found = keys.filter(key => key.purpose === purpose).sort((a, b) => b.version - a.version)[0]
  if (found === undefined) throw new KeyProviderError(`storage holds no key for ${purpose} of ${owner}`)
  return found
}

export const unwrapVaultKeys = async (
  provider: KeyProvider,
  wrapped: readonly WrappedKey[],
): Promise<VaultKeys> => {
  const keys = await unwrapAll(provider, vaultOwner, wrapped)
  return { apiKeys: newest(keys, vaultOwner, 'api-keys').key, grants: newest(keys, vaultOwner, 'grants').key }
}

export const unwrapTenantKeys = async (
  provider: KeyProvider,
  tenantId: string,
  wrapped: readonly WrappedKey[],
): Promise<TenantKeys> => {
  const keys = await unwrapAll(provider, tenantId, wrapped)
  return {
    tenantId,
    data: new Map(keys.filter(key => key.purpose === 'data').map(({ version, key }) => [version, key])),
    currentDataVersion: newest(keys, tenantId, 'data').version,
    index: newest(keys, tenantId, 'index').key,
    fingerprint: newest(keys, tenantId, 'fingerprint').key,
  }
}
