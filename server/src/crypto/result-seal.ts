import type { SealContext } from './aead.ts'
import { openData, sealData } from './data-seal.ts'
import type { TenantKeys } from './keys.ts'

type ResultColumns = { readonly hash: Uint8Array; readonly expiresAt: number }

const context = (tenantId: string, { hash, expiresAt }: ResultColumns): SealContext => [
  'result',
  tenantId,
  Buffer.from(hash).toString('hex'),
  expiresAt,
]

/** Kept answers to idempotent requests are sealed like the tokens that they show. */
export const sealResult = (keys: TenantKeys, row: ResultColumns, text: string): Buffer =>
  sealData(keys, context(keys.tenantId, row), text)

export const openResult = (keys: TenantKeys, row: ResultColumns & { sealed: Uint8Array }): Buffer =>
  openData(keys, context(keys.tenantId, row), row.sealed, { kind: 'kept answer' })
