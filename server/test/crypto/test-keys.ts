import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { TenantKeys, VaultKeys } from '../../src/crypto/keys.ts'

export const newKey = (): KeyObject => createSecretKey(randomBytes(32))

/** The bytes 0 to 31, for vectors that must never change. */
export const fixedKey: KeyObject = createSecretKey(Uint8Array.from({ length: 32 }, (_, i) => i))

export const newTenantKeys = (more: Partial<TenantKeys> = {}): TenantKeys => ({
  tenantId: crypto.randomUUID(),
  data: new Map([[1, newKey()]]),
  currentDataVersion: 1,
  index: newKey(),
  fingerprint: newKey(),
  ...more,
})

export const newVaultKeys = (): VaultKeys => ({
  apiKeys: newKey(),
  grants: newKey(),
  log: newKey(),
  checkpoints: newKey(),
})
