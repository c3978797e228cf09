import type { Transform } from '../access/application.ts'
import { budgetFor } from '../expressions/budget.ts'
import type { Json, JsonObject } from '../json/json.ts'
import { formatExpiry } from '../time/date-time.ts'
import { formatInstant, type Instant } from '../time/instant.ts'
import { renderMaskOrNothing } from './render-mask.ts'
import {
  fingerprintExpressionInForce,
  type Metadata,
  maskInForce,
  searchIndexesInForce,
  type Token,
} from './token.ts'
import { wholeData } from './transients.ts'

/**
 * A token as an answer shows it (C12). A mask that takes too much work shows nothing, and `noteUnrendered` is called. That happens if the
 * mask was written when more was allowed, or if a writer who may not read the data has made it longer.
 */
export const viewToken = (
  token: Token,
  transform: Transform,
  now: Instant,
  noteUnrendered: () => void = () => {},
): JsonObject => {
  const masked = transform === 'redact' ? undefined : maskedData(token, noteUnrendered)
  return asJson({
    id: token.id,
    type: token.type.name,
    tenant_id: token.tenantId,
    data: transform === 'reveal' ? wholeData(token, now) : masked,
    mask:
      token.mask.from === 'caller' ? token.mask.template : token.mask.from === 'type' ? masked : undefined,
    metadata: token.metadata,
    fingerprint: transform === 'redact' ? undefined : token.fingerprint,
    fingerprint_expression: fingerprintExpressionInForce(token),
    search_indexes: presentList(searchIndexesInForce(token)),
    containers: token.containers,
    expires_at: token.expiry && formatExpiry(token.expiry),
    created_by: token.createdBy,
    created_at: formatInstant(token.createdAt),
    modified_by: token.modifiedBy,
    modified_at: token.modifiedAt === undefined ? undefined : formatInstant(token.modifiedAt),
  })
}

/** C15: what a deduplication hit shows to a caller who may not read the token. Under `redact` not even the fingerprint (C12). */
export const viewUnreadable = (token: Token, transform: Transform): JsonObject =>
  asJson({
    id: token.id,
    type: token.type.name,
    tenant_id: token.tenantId,
    fingerprint: transform === 'redact' ? undefined : token.fingerprint,
    containers: token.containers,
    created_by: token.createdBy,
    created_at: formatInstant(token.createdAt),
  })

const maskedData = (token: Token, noteUnrendered: () => void): Json | undefined => {
  const template = maskInForce(token)
  if (template === undefined || token.blind.maskWithheld === true) return undefined
  const data = token.data.expose('masking')
  const budget = budgetFor('mask', { data })
  const masked = renderMaskOrNothing(template, data, budget)
  if (budget.isSpent) noteUnrendered()
  return masked
}

const presentList = (list: readonly string[]): readonly string[] | undefined =>
  list.length === 0 ? undefined : list

/**
 * Fields to be written as JSON, which leaves out undefined ones (C5). They stay in the object, because copying the
 * others into a new one cost as much as rendering a mask.
 */
const asJson = (
  fields: Readonly<Record<string, Json | Metadata | readonly string[] | undefined>>,
): JsonObject => fields as JsonObject
