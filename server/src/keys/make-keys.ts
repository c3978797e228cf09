import { randomBytes } from 'node:crypto'
import type { KeyProvider } from './key-provider.ts'
import { contextOf, vaultOwner, type WrappedKey } from './wrapped-key.ts'

const keyBytes = 32
const vaultPurposes = ['api-keys', 'grants'] as const
const tenantPurposes = ['data', 'index', 'fingerprint'] as const

/** Makes a key, wraps it and wipes it. To use the key, unwrap it. */
export const newWrappedKey = async (
  provider: KeyProvider,
  owner: string,
  purpose: string,
  version: number,
): Promise<WrappedKey> => {
  const key = randomBytes(keyBytes)
  const wrapped = await provider.wrap(key, contextOf(owner, { purpose, version }))
  key.fill(0)
  return { purpose, version, wrapped }
}

export const newVaultKeys = (provider: KeyProvider): Promise<WrappedKey[]> =>
  Promise.all(vaultPurposes.map(purpose => newWrappedKey(provider, vaultOwner, purpose, 1)))

export const newTenantKeys = (provider: KeyProvider, tenantId: string): Promise<WrappedKey[]> =>
  Promise.all(tenantPurposes.map(purpose => newWrappedKey(provider, tenantId, purpose, 1)))
