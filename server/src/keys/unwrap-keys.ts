import { createSecretKey, type KeyObject } from 'node:crypto'
import type { TenantKeys, VaultKeys } from '../crypto/keys.ts'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { contextOf, vaultOwner, type WrappedKey } from './wrapped-key.ts'

export const unwrapVaultKeys = async (
  provider: KeyProvider,
  wrapped: readonly WrappedKey[],
): Promise<VaultKeys> => {
  const keys = await unwrapAll(provider, vaultOwner, wrapped)
  const keyFor = (purpose: string): KeyObject => newest(keys, vaultOwner, purpose).key
  return {
    apiKeys: keyFor('api-keys'),
    grants: keyFor('grants'),
    log: keyFor('log'),
    checkpoints: keyFor('checkpoints'),
  }
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

type UnwrappedKey = { readonly purpose: string; readonly version: number; readonly key: KeyObject }

const unwrapAll = (
  provider: KeyProvider,
  owner: string,
  keys: readonly WrappedKey[],
): Promise<UnwrappedKey[]> =>
  Promise.all(
    keys.map(async ({ purpose, version, wrapped }) => {
      const bytes = await provider.unwrap(wrapped, contextOf(owner, { purpose, version }))
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
