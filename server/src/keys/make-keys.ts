import { randomBytes } from 'node:crypto'
import type { KeyProvider } from './key-provider.ts'
import { contextOf, vaultOwner, type WrappedKey } from './wrapped-key.ts'

const keyBytes = 32
export const vaultPurposes = ['api-keys', 'grants', 'log', 'checkpoints'] as const
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

/** The vault's keys of these purposes; of a vault from before there was a log, some may be missing. */
export const newVaultKeys = (
  provider: KeyProvider,
  purposes: readonly string[] = vaultPurposes,
): Promise<WrappedKey[]> =>
  Promise.all(purposes.map(purpose => newWrappedKey(provider, vaultOwner, purpose, 1)))

export const newTenantKeys = (provider: KeyProvider, tenantId: string): Promise<WrappedKey[]> =>
  Promise.all(tenantPurposes.map(purpose => newWrappedKey(provider, tenantId, purpose, 1)))
