import type { SealContext } from './aead.ts'
import { openData, sealData } from './data-seal.ts'
import type { TenantKeys } from './keys.ts'

const context = (tenantId: string, name: string): SealContext => ['report', tenantId, name]

/** A report names the terms that the tenant's tokens are found by, so it is sealed like them. */
export const sealReport = (keys: TenantKeys, name: string, text: string): Buffer =>
  sealData(keys, context(keys.tenantId, name), text)

export const openReport = (keys: TenantKeys, name: string, sealed: Uint8Array): Buffer =>
  openData(keys, context(keys.tenantId, name), sealed, { kind: `report on ${name}` })
