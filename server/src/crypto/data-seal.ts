import { open, seal, sealedKeyVersion } from './aead.ts'
import type { TenantKeys } from './keys.ts'

/** Seals under the tenant's current data key. */
export const sealWith = (keys: TenantKeys, context: string, plaintext: string): Buffer => {
  const key = keys.data.get(keys.currentDataVersion)
  if (key === undefined) throw new Error('the tenant has no data key')
  return seal(key, keys.currentDataVersion, plaintext, context)
}

/** Opens with the key version that sealed the value; undefined if that fails in any way. */
export const openWith = (keys: TenantKeys, context: string, sealed: Uint8Array): Buffer | undefined => {
  const version = sealedKeyVersion(sealed)
  const key = version === undefined ? undefined : keys.data.get(version)
  return key && open(key, sealed, context)
}
