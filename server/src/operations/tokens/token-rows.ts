import { openToken, openTransient, sealToken, sealTransient } from '../../crypto/data-seal.ts'
import type { TenantKeys } from '../../crypto/keys.ts'
import { type Json, type JsonObject, stringify } from '../../domain/json/json.ts'
import { parseStored } from '../../domain/json/parse-json.ts'
import { Secret } from '../../domain/secret.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import {
  type Blindness,
  isAtHome,
  type Metadata,
  type Token,
  type Transient,
  type Writable,
} from '../../domain/tokens/token.ts'
import { tokenType } from '../../domain/tokens/types/registry.ts'
import type { TokenRow, TransientRow, WithoutTenant } from '../../store/rows.ts'

/**
 * A token's sealed record: everything that the caller sent. Names are short because every row repeats them. Values equal to the
 * type's default are left out.
 */
type TokenRecord = {
  d: Json
  /** The id was chosen, not made by the vault. */
  ci?: true
  m?: Json
  c?: readonly string[]
  md?: Metadata
  si?: readonly string[]
  /** Keyed hashes of what the search indexes rendered, in base64. */
  it?: readonly (string | null)[]
  fe?: string
  fp?: string
  dd?: boolean
  /** Offset of expires_at in minutes. The instant is a column. */
  xo?: number
  b?: Blindness
}

export const sealTokenRow = (token: Token, keys: TenantKeys): WithoutTenant<TokenRow> => {
  const columns = {
    id: token.id,
    type: token.type.name,
    version: token.version,
    createdAt: token.createdAt,
    createdBy: token.createdBy,
    modifiedAt: token.modifiedAt ?? null,
    modifiedBy: token.modifiedBy ?? null,
    expiresAt: token.expiry?.at ?? null,
    transientUntil: latestDeadline(token.transients),
    activeMonth: token.activeMonth,
  }
  return { ...columns, sealed: sealToken(keys, columns, JSON.stringify(toRecord(token))) }
}

const latestDeadline = (transients: readonly Transient[]): number | null =>
  transients.length === 0 ? null : Math.max(...transients.map(transient => transient.expiresAt))

const toRecord = (token: Token): TokenRecord => {
  const record: TokenRecord = { d: token.data.expose('sealing') }
  if (token.hasChosenId) record.ci = true
  if (token.mask.from === 'caller') record.m = token.mask.template
  if (token.mask.from === 'nobody') record.m = null
  if (!isAtHome(token)) record.c = token.containers
  if (token.metadata !== undefined) record.md = token.metadata
  if (token.searchIndexes !== undefined) record.si = token.searchIndexes
  if (token.indexTerms.length > 0) record.it = token.indexTerms
  if (token.fingerprintExpression !== undefined) record.fe = token.fingerprintExpression
  if (token.fingerprint !== undefined) record.fp = token.fingerprint
  if (token.deduplicate !== undefined) record.dd = token.deduplicate
  if (token.expiry !== undefined && token.expiry.offsetMinutes !== 0) record.xo = token.expiry.offsetMinutes
  if (Object.keys(token.blind).length > 0) record.b = token.blind
  return record
}

/** Opens a row. Throws a TamperedError that names the token if any part of it differs from what was sealed. */
export const openTokenRow = (
  row: WithoutTenant<TokenRow>,
  transients: readonly WithoutTenant<TransientRow>[],
  keys: TenantKeys,
): Token => {
  const record: TokenRecord = parseStored(openToken(keys, row)) as JsonObject & TokenRecord
  const type = tokenType(row.type)
  if (type === undefined) throw new TamperedError({ kind: 'token', id: row.id, tenantId: keys.tenantId })
  const token: Writable<Token> = {
    id: row.id,
    tenantId: keys.tenantId,
    type,
    version: row.version,
    data: new Secret(record.d),
    transients: transients.map(transient => openTransientRow(row, transient, keys)),
    mask:
      record.m === undefined
        ? { from: 'type' }
        : record.m === null
          ? { from: 'nobody' }
          : { from: 'caller', template: record.m },
    containers: record.c ?? [type.container],
    indexTerms: record.it ?? [],
    blind: record.b ?? {},
    activeMonth: row.activeMonth,
    createdBy: row.createdBy,
    createdAt: row.createdAt,
  }
  if (record.ci) token.hasChosenId = true
  if (record.md !== undefined) token.metadata = record.md
  if (record.si !== undefined) token.searchIndexes = record.si
  if (record.fe !== undefined) token.fingerprintExpression = record.fe
  if (record.fp !== undefined) token.fingerprint = record.fp
  if (record.dd !== undefined) token.deduplicate = record.dd
  if (row.expiresAt !== null) token.expiry = { at: row.expiresAt, offsetMinutes: record.xo ?? 0 }
  if (row.modifiedBy !== null) token.modifiedBy = row.modifiedBy
  if (row.modifiedAt !== null) token.modifiedAt = row.modifiedAt
  return token
}

/** Undefined if the row does not open. */
export const openIfWhole = (
  row: TokenRow,
  keys: TenantKeys,
  transients: readonly TransientRow[] = [],
): Token | undefined => {
  try {
    return openTokenRow(row, transients, keys)
  } catch (error) {
    if (error instanceof TamperedError) return undefined
    throw error
  }
}

export const sealTransientRow = (
  token: Token,
  { field, value, expiresAt }: Transient,
  keys: TenantKeys,
): WithoutTenant<TransientRow> => ({
  tokenId: token.id,
  field,
  expiresAt,
  sealed: sealTransient(
    keys,
    { id: token.id, type: token.type.name, createdBy: token.createdBy, createdAt: token.createdAt },
    { field, expiresAt },
    stringify(value.expose('sealing')),
  ),
})

const openTransientRow = (
  token: WithoutTenant<TokenRow>,
  row: WithoutTenant<TransientRow>,
  keys: TenantKeys,
): Transient => ({
  field: row.field,
  value: new Secret(parseStored(openTransient(keys, token, row))),
  expiresAt: row.expiresAt,
})
