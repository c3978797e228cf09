import { type RowName, TamperedError } from '../domain/tampered-error.ts'
import { open, type SealContext, seal, sealedKeyVersion } from './aead.ts'
import type { TenantKeys } from './keys.ts'

// Everything that a tenant's data keys seal: tokens, transient fields, kept answers and reports.

/** Seals under the tenant's current data key. */
const sealData = (keys: TenantKeys, context: SealContext, plaintext: string): Buffer => {
  const key = keys.data.get(keys.currentDataVersion)
  if (key === undefined) throw new Error('the tenant has no data key')
  return seal(key, keys.currentDataVersion, plaintext, context)
}

/** Opens with the key version that sealed the value. Throws a TamperedError that names the row if that fails in any way. */
const openData = (
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

/**
 * The plain columns of a token's row that its seal authenticates. A row that was moved to another id or tenant, re-dated, re-typed or
 * mixed with an older version does not open.
 */
export type TokenColumns = {
  readonly id: string
  readonly type: string
  readonly version: number
  readonly expiresAt: number | null
  readonly createdBy: string
  readonly createdAt: number
  readonly modifiedBy: string | null
  readonly modifiedAt: number | null
}

/**
 * A transient field outlives changes of its token and has its own deadline, so its seal covers only what never changes
 * about the token.
 */
export type TransientColumns = { readonly field: string; readonly expiresAt: number }
type TokenIdentity = Pick<TokenColumns, 'id' | 'type' | 'createdBy' | 'createdAt'>

const tokenContext = (tenantId: string, row: TokenColumns): SealContext => [
  'token',
  tenantId,
  row.id,
  row.type,
  row.version,
  row.expiresAt,
  row.createdBy,
  row.createdAt,
  row.modifiedBy,
  row.modifiedAt,
]

const transientContext = (tenantId: string, token: TokenIdentity, row: TransientColumns): SealContext => [
  'transient',
  tenantId,
  token.id,
  token.type,
  token.createdBy,
  token.createdAt,
  row.field,
  row.expiresAt,
]

export const sealToken = (keys: TenantKeys, row: TokenColumns, record: string): Buffer =>
  sealData(keys, tokenContext(keys.tenantId, row), record)

export const openToken = (keys: TenantKeys, row: TokenColumns & { sealed: Uint8Array }): Buffer =>
  openData(keys, tokenContext(keys.tenantId, row), row.sealed, { kind: 'token', id: row.id })

/** Whether an older key than the current one has sealed the row. Keys made since these were read count as newer. */
export const sealedByOlderKey = (keys: TenantKeys, { sealed }: { sealed: Uint8Array }): boolean =>
  (sealedKeyVersion(sealed) ?? 0) < keys.currentDataVersion

/** The same record under the current key. Throws a TamperedError if the row does not open. */
export const resealToken = (keys: TenantKeys, row: TokenColumns & { sealed: Uint8Array }): Buffer =>
  sealToken(keys, row, openToken(keys, row).toString('utf8'))

export const sealTransient = (
  keys: TenantKeys,
  token: TokenIdentity,
  row: TransientColumns,
  value: string,
): Buffer => sealData(keys, transientContext(keys.tenantId, token, row), value)

export const openTransient = (
  keys: TenantKeys,
  token: TokenIdentity,
  row: TransientColumns & { sealed: Uint8Array },
): Buffer =>
  openData(keys, transientContext(keys.tenantId, token, row), row.sealed, { kind: 'token', id: token.id })

type ResultColumns = { readonly hash: Uint8Array; readonly expiresAt: number }

const resultContext = (tenantId: string, { hash, expiresAt }: ResultColumns): SealContext => [
  'result',
  tenantId,
  Buffer.from(hash).toString('hex'),
  expiresAt,
]

/** Kept answers to idempotent requests are sealed like the tokens that they show. */
export const sealResult = (keys: TenantKeys, row: ResultColumns, text: string): Buffer =>
  sealData(keys, resultContext(keys.tenantId, row), text)

export const openResult = (keys: TenantKeys, row: ResultColumns & { sealed: Uint8Array }): Buffer =>
  openData(keys, resultContext(keys.tenantId, row), row.sealed, { kind: 'kept answer' })

const reportContext = (tenantId: string, name: string): SealContext => ['report', tenantId, name]

/** A report names the terms that the tenant's tokens are found by, so it is sealed like them. */
export const sealReport = (keys: TenantKeys, name: string, text: string): Buffer =>
  sealData(keys, reportContext(keys.tenantId, name), text)

export const openReport = (keys: TenantKeys, name: string, sealed: Uint8Array): Buffer =>
  openData(keys, reportContext(keys.tenantId, name), sealed, { kind: `report on ${name}` })
