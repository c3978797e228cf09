import { type RowName, TamperedError } from '../domain/tampered-error.ts'
import { open, type SealContext, seal, sealedKeyVersion } from './aead.ts'
import type { TenantKeys } from './keys.ts'

/** Seals under the tenant's current data key. */
export const sealData = (keys: TenantKeys, context: SealContext, plaintext: string): Buffer => {
  const key = keys.data.get(keys.currentDataVersion)
  if (key === undefined) throw new Error('the tenant has no data key')
  return seal(key, keys.currentDataVersion, plaintext, context)
}

/** Opens with the key version that sealed the value. Throws a TamperedError that names the row if that fails in any way. */
export const openData = (
  keys: TenantKeys,
  context: SealContext,
  sealed: Uint8Array,
  row: Omit<RowName, 'tenantId'>,
): Buffer => {
  const version = sealedKeyVersion(sealed)
  const key = version === undefined ? undefined : keys.data.get(version)
  const plaintext = key && open(key, sealed, context)
  if (plaintext === undefined) throw new TamperedError({ ...row, tenantId: keys.tenantId })
  return plaintext
}
