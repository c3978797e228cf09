import type { ListPosition } from '../domain/tokens/list-position.ts'
import type { GrownLog, StartedLogHead } from './port.ts'
import type {
  ApiKeyRow,
  ApplicationRow,
  Counter,
  DeliveryRow,
  IndexEntry,
  KeyRow,
  LogBlockRow,
  LogCheckpointRow,
  LogHead,
  LogLeafRow,
  LogOwnerRow,
  LogTreeRow,
  MatchRow,
  ResourceRow,
  ResultRow,
  TenantRow,
  TokenRow,
  TransientRow,
  UsedApiKeyRow,
  WithoutTenant,
} from './rows.ts'

/**
 * From columns to rows. The database is untrusted: a column of the wrong type is read as a value that cannot be opened,
 * and never crashes the process. Integers arrive as numbers, or as bigints where one may exceed what a double holds:
 * SQLite's driver would throw on those.
 */
export type Value = null | number | bigint | string | Uint8Array
export type Columns = Readonly<Record<string, Value | undefined>>

/**
 * Stands for an integer that cannot be read. No row is ever sealed with it, so such a row does not open. NaN would not
 * do: JSON turns it into null, which looks like an empty column.
 */
const unreadableInteger = -1

const integer = (value: Value | undefined): number => {
  const number = typeof value === 'bigint' ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : unreadableInteger
}
const optionalInteger = (value: Value | undefined): number | null =>
  value === null || value === undefined ? null : integer(value)
/** A time that no seal covers and that is only shown. It is left out if no date can hold it. */
const shownInstant = (value: Value | undefined): number | null => {
  const instant = optionalInteger(value)
  return instant === null || Number.isNaN(new Date(instant).getTime()) ? null : instant
}
const text = (value: Value | undefined): string => (typeof value === 'string' ? value : '')
const optionalText = (value: Value | undefined): string | null =>
  value === null || value === undefined ? null : text(value)
const bytes = (value: Value | undefined): Uint8Array =>
  value instanceof Uint8Array ? value : new Uint8Array(0)

/** In the order in which `tokenRow` reads them, which is the column order of the table (tables.ts). */
export const tokenValues = (tenant: number, row: WithoutTenant<TokenRow>) =>
  [
    tenant,
    row.id,
    row.type,
    row.version,
    row.createdAt,
    row.createdBy,
    row.modifiedAt,
    row.modifiedBy,
    row.expiresAt,
    row.transientUntil,
    row.activeMonth,
    row.sealed,
  ] as const

/** Reads arrays, not objects: objects with twelve named columns would cost 3 µs per row, on the path of every read. */
export const tokenRow = ([
  tenant,
  id,
  type,
  version,
  createdAt,
  createdBy,
  modifiedAt,
  modifiedBy,
  expiresAt,
  transientUntil,
  activeMonth,
  sealed,
]: readonly Value[]): TokenRow => ({
  tenant: integer(tenant),
  id: text(id),
  type: text(type),
  version: integer(version),
  createdAt: integer(createdAt),
  createdBy: text(createdBy),
  modifiedAt: optionalInteger(modifiedAt),
  modifiedBy: optionalText(modifiedBy),
  expiresAt: optionalInteger(expiresAt),
  transientUntil: optionalInteger(transientUntil),
  activeMonth: integer(activeMonth),
  sealed: bytes(sealed),
})

export const listPosition = (row: Columns): ListPosition => ({
  createdAt: integer(row.created_at),
  id: text(row.token_id),
})

export const transientRow = (row: Columns): TransientRow => ({
  tenant: integer(row.tenant),
  tokenId: text(row.token_id),
  field: text(row.field),
  expiresAt: integer(row.expires_at),
  sealed: bytes(row.sealed),
})

export const tenantRow = (row: Columns): TenantRow => ({
  tenant: integer(row.tenant),
  id: text(row.tenant_id),
  revision: integer(row.revision),
  sealed: bytes(row.sealed),
})

export const resourceOwner = (row: Columns): Pick<TenantRow, 'tenant' | 'revision'> => ({
  tenant: integer(row.tenant),
  revision: integer(row.revision),
})

export const applicationRow = (row: Columns): ApplicationRow => ({
  tenant: integer(row.tenant),
  id: text(row.application_id),
  sealed: bytes(row.sealed),
})

export const apiKeyRow = (row: Columns): ApiKeyRow => ({
  tenant: integer(row.tenant),
  id: text(row.key_id),
  applicationId: text(row.application_id),
  hash: bytes(row.hash),
  expiresAt: optionalInteger(row.expires_at),
  sealed: bytes(row.sealed),
})

export const usedApiKeyRow = (row: Columns): UsedApiKeyRow => ({
  ...apiKeyRow(row),
  lastUsedAt: shownInstant(row.last_used_at),
})

export const resourceRow = (row: Columns): ResourceRow => ({
  tenant: integer(row.tenant),
  kind: text(row.kind),
  id: text(row.resource_id),
  hash: row.hash === null || row.hash === undefined ? null : bytes(row.hash),
  sealed: bytes(row.sealed),
})

export const deliveryRow = (row: Columns): DeliveryRow => ({
  tenant: integer(row.tenant),
  webhookId: text(row.webhook_id),
  id: text(row.delivery_id),
  dueAt: optionalInteger(row.due_at),
  sealed: bytes(row.sealed),
})

export const resultRow = (row: Columns): ResultRow => ({
  tenant: integer(row.tenant),
  hash: bytes(row.hash),
  expiresAt: integer(row.expires_at),
  sealed: bytes(row.sealed),
})

export const indexEntry = (row: Columns): IndexEntry => ({
  term: bytes(row.term),
  createdAt: integer(row.created_at),
  tokenId: text(row.token_id),
  expiresAt: optionalInteger(row.expires_at),
  signature: integer(row.signature),
  tag: row.tag === null || row.tag === undefined ? null : bytes(row.tag),
})

export const matchRow = (row: Columns): MatchRow => ({
  term: bytes(row.term),
  tag: bytes(row.tag),
  tokenId: text(row.token_id),
})

export const sealedBytes = (row: Columns): Uint8Array => bytes(row.sealed)

export const keyRow = (row: Columns): KeyRow => ({
  purpose: text(row.purpose),
  version: integer(row.version),
  wrapped: bytes(row.wrapped),
})

export const logBlock = (row: Columns): LogBlockRow => ({
  tenant: integer(row.tenant),
  writer: integer(row.writer),
  first: integer(row.first_record),
  records: integer(row.records),
  kept: row.kept === null || row.kept === undefined ? null : bytes(row.kept),
  firstAt: integer(row.first_at),
  lastAt: integer(row.last_at),
  sealed: bytes(row.sealed),
})

export const logHead = (row: Columns): LogHead => ({
  tenant: integer(row.tenant),
  writer: integer(row.writer),
  size: integer(row.size),
})

export const startedLogHead = (row: Columns): StartedLogHead => ({
  ...logHead(row),
  start: integer(row.start),
})

export const logTree = (row: Columns): LogTreeRow => ({ ...logHead(row), sealed: bytes(row.sealed) })

export const grownLog = (row: Columns): GrownLog => ({
  head: logHead(row),
  tree: row.tree_size === null ? undefined : logTree({ ...row, size: row.tree_size }),
})

export const logOwner = (row: Columns): LogOwnerRow => ({
  tenant: integer(row.tenant),
  id: text(row.tenant_id),
})

export const logCheckpoint = (row: Columns): LogCheckpointRow => ({
  size: integer(row.size),
  at: integer(row.at),
  note: text(row.note),
  sealed: bytes(row.sealed),
})

export const logLeaf = (row: Columns): LogLeafRow => ({
  position: integer(row.position),
  ...logHead(row),
  root: bytes(row.root),
})

export const counter = (row: Columns): Counter => ({
  name: text(row.name),
  value: integer(row.value),
  at: shownInstant(row.at),
})
