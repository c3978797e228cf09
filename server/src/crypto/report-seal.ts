import { TamperedError } from '../domain/tampered-error.ts'
import { openWith, sealWith } from './data-seal.ts'
import type { TenantKeys } from './keys.ts'

const context = (tenantId: string, name: string): string => JSON.stringify(['report', tenantId, name])

/** A report names the terms that the tenant's tokens are found by, so it is sealed like them. */
export const sealReport = (keys: TenantKeys, name: string, text: string): Buffer =>
  sealWith(keys, context(keys.tenantId, name), text)

export const openReport = (keys: TenantKeys, name: string, sealed: Uint8Array): Buffer => {
  const plaintext = openWith(keys, context(keys.tenantId, name), sealed)
  if (plaintext === undefined) throw new TamperedError({ kind: `report on ${name}`, tenantId: keys.tenantId })
  return plaintext
}
