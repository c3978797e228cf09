import type { Issue } from '../../domain/errors.ts'
import { getOwn, isJsonObject, type Json, type JsonObject, setOwn } from '../../domain/json/json.ts'
import { formatExpiry } from '../../domain/time/date-time.ts'
import type { Blindness, Token } from '../../domain/tokens/token.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'

/**
 * What a row of an export says beyond a body of `POST /tokens`, because no caller may ask for it: that the mask was cleared, and
 * which parts are blind (C13).
 */
export type RowExtras = { readonly hasNoMask?: true; readonly blind?: Blindness }

const extrasName = '_strongroom'

/** A token as the body of the create that makes it anew. Fields that live only for a while are left out. */
export const exportedRow = (token: Token): JsonObject => {
  const { mask, metadata, searchIndexes, fingerprintExpression, deduplicate, expiry, blind } = token
  const isBlind = Object.keys(blind).length > 0
  const extras = {
    ...(mask.from === 'nobody' && { mask: 'none' }),
    ...(isBlind && { blind: Object.keys(blind) }),
  }
  return {
    id: token.id,
    type: token.type.name,
    data: token.data.expose('an export'),
    ...(mask.from === 'caller' && { mask: mask.template }),
    containers: [...token.containers],
    ...(metadata !== undefined && { metadata: { ...metadata } }),
    ...(searchIndexes !== undefined && { search_indexes: [...searchIndexes] }),
    ...(fingerprintExpression !== undefined && { fingerprint_expression: fingerprintExpression }),
    ...(deduplicate !== undefined && { deduplicate_token: deduplicate }),
    ...(expiry !== undefined && { expires_at: formatExpiry(expiry) }),
    ...(Object.keys(extras).length > 0 && { [extrasName]: extras }),
  }
}

/** The body without what an export adds, and that. */
export const readRowExtras = (row: Json, issues: Issue[]): { body: Json; extras: RowExtras } => {
  if (!isJsonObject(row) || !Object.hasOwn(row, extrasName)) return { body: row, extras: {} }
  const body: JsonObject = {}
  for (const [name, value] of Object.entries(row)) if (name !== extrasName) setOwn(body, name, value)
  const said = getOwn(row, extrasName)
  const extras = isJsonObject(said) ? extrasOf(said) : undefined
  if (extras === undefined) issues.push({ path: extrasName, message: 'is not what an export writes' })
  return { body, extras: extras ?? {} }
}

const blindParts: readonly string[] = ['mask', 'maskWithheld', 'fingerprint'] satisfies (keyof Blindness)[]

const extrasOf = (said: JsonObject): RowExtras | undefined => {
  const mask = getOwn(said, 'mask')
  const blind = getOwn(said, 'blind') ?? []
  if (mask !== undefined && mask !== 'none') return undefined
  if (!Array.isArray(blind)) return undefined
  const parts = blind.map(String)
  if (!parts.every(part => blindParts.includes(part))) return undefined
  return {
    ...(mask === 'none' && { hasNoMask: true }),
    ...(parts.length > 0 && { blind: Object.fromEntries(parts.map(part => [part, true])) as Blindness }),
  }
}

export const withExtras = (definition: TokenDefinition, { hasNoMask, blind }: RowExtras): TokenDefinition => {
  if (hasNoMask === undefined && blind === undefined) return definition
  const { content } = definition
  return {
    ...definition,
    content: {
      ...content,
      ...(hasNoMask && { mask: { from: 'nobody' } }),
      ...(blind !== undefined && { blind }),
    },
  }
}
