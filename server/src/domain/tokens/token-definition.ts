import type { Issue } from '../errors.ts'
import type { Expression } from '../expressions/expression.ts'
import type { Json } from '../json/json.ts'
import { field } from '../place.ts'
import { Secret } from '../secret.ts'
import { readExpiry } from '../time/date-time.ts'
import type { Instant } from '../time/instant.ts'
import { parseContainers } from './containers.ts'
import { checkExpressionsAndMetadata, readExpression } from './field-checks.ts'
import { countTerms } from './index-terms.ts'
import { checkMetadataNumbers } from './own-number.ts'
import { checkRenderings, renderedParts } from './renderings.ts'
import type { RequestCosts } from './request-costs.ts'
import type { Token, Writable } from './token.ts'
import { tokenIdFault } from './token-id.ts'
import { splitTransients } from './transients.ts'
import { tokenType, unknownTokenType } from './types/registry.ts'
import type { TokenType } from './types/token-type.ts'

/** The body of a create (§4.2) once its shape is known to be right. */
export type TokenFields = {
  readonly id?: string
  readonly type: string
  readonly data: Json
  readonly mask?: Json
  readonly containers?: readonly string[]
  readonly metadata?: Readonly<Record<string, string>>
  readonly search_indexes?: readonly string[]
  readonly fingerprint_expression?: string
  readonly deduplicate_token?: boolean
  readonly expires_at?: string
}

/** What a token will hold, before it has an id, a fingerprint and an author. */
export type TokenContent = Omit<
  Token,
  | 'id'
  | 'hasChosenId'
  | 'tenantId'
  | 'version'
  | 'fingerprint'
  | 'indexTerms'
  | 'activeMonth'
  | 'createdBy'
  | 'createdAt'
  | 'modifiedBy'
  | 'modifiedAt'
>

export type TokenDefinition = {
  readonly content: TokenContent
  /** Undefined: the vault chooses. */
  readonly id: Expression | undefined
  /** Where the definition stands in the caller's body. */
  readonly place: string
  /** What the request may still cost. */
  readonly costs: RequestCosts
}

/** Reads one definition. Every fault becomes an issue at its place, and then the result is undefined. */
export const readDefinition = (
  fields: TokenFields,
  place: string,
  now: Instant,
  issues: Issue[],
  costs: RequestCosts,
): TokenDefinition | undefined => {
  const before = issues.length
  const type = tokenType(fields.type)
  if (type === undefined) {
    issues.push({ path: field(place, 'type'), message: unknownTokenType })
    return undefined
  }
  const parsed = type.parse(fields.data, field(place, 'data'), issues)
  const id = fields.id === undefined ? undefined : readId(fields.id, type, field(place, 'id'), issues)
  checkExpressionsAndMetadata(fields, type, place, issues)
  if (parsed !== undefined && fields.metadata)
    checkMetadataNumbers(fields.metadata, type.numbers(parsed), field(place, 'metadata'), issues)
  const containers =
    fields.containers === undefined
      ? [type.container]
      : parseContainers(fields.containers, field(place, 'containers'), issues)
  const expiry =
    fields.expires_at === undefined
      ? undefined
      : readExpiry(fields.expires_at, field(place, 'expires_at'), now, issues)
  if (parsed === undefined || issues.length > before) return undefined

  const { data, transients } = splitTransients(parsed, type, now)
  const content: Writable<TokenContent> = {
    type,
    data: new Secret(data),
    transients,
    mask: fields.mask === undefined ? { from: 'type' } : { from: 'caller', template: fields.mask },
    containers,
    blind: {},
  }
  if (fields.metadata) content.metadata = fields.metadata
  if (fields.search_indexes) content.searchIndexes = fields.search_indexes
  if (fields.fingerprint_expression !== undefined)
    content.fingerprintExpression = fields.fingerprint_expression
  if (fields.deduplicate_token !== undefined) content.deduplicate = fields.deduplicate_token
  if (expiry) content.expiry = expiry
  costs.addTerms(countTerms(content))
  checkRenderings(content, place, issues, renderedParts, costs.budget)
  return issues.length > before ? undefined : { content, id, place, costs }
}

/** A literal id or an expression for one (C16). */
const readId = (text: string, type: TokenType, place: string, issues: Issue[]): Expression | undefined => {
  const expression = readExpression(text, 'id', type, place, issues)
  if (expression?.isLiteral === true) {
    const message = tokenIdFault(text)
    if (message !== undefined) {
      issues.push({ path: place, message })
      return undefined
    }
  }
  return expression
}
