import { disclosesCard } from './card-disclosure.ts'
import { parseContainers } from './containers.ts'
import type { Issue } from './errors.ts'
import { readExpiry } from './expiry.ts'
import { checkExpression } from './expression-check.ts'
import { Allowance } from './expressions/budget.ts'
import { compileExpression, type Expression } from './expressions/expression.ts'
import { ExpressionError } from './expressions/expression-error.ts'
import { budgetFor } from './expressions/run.ts'
import { renderFingerprint } from './fingerprint.ts'
import type { Instant } from './instant.ts'
import type { Json } from './json.ts'
import { checkMask, renderMask } from './mask.ts'
import { checkMetadata } from './metadata.ts'
import { element, field } from './place.ts'
import { Secret } from './secret.ts'
import { searchIndexesInForce, type Token, type Writable } from './token.ts'
import { tokenIdFault } from './token-id.ts'
import { tokenType } from './token-types/registry.ts'
import type { TokenType } from './token-types/token-type.ts'
import { splitTransients } from './transients.ts'

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
  | 'tenantId'
  | 'version'
  | 'fingerprint'
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
}

/** Reads one definition; every fault becomes an issue at its place, and then nothing is returned. */
export const readDefinition = (
  fields: TokenFields,
  place: string,
  now: Instant,
  issues: Issue[],
  allowance = new Allowance(),
): TokenDefinition | undefined => {
  const before = issues.length
  const type = tokenType(fields.type)
  if (type === undefined) {
    issues.push({ path: field(place, 'type'), message: 'is not a type of token that the vault knows' })
    return undefined
  }
  const parsed = type.parse(fields.data, field(place, 'data'), issues)
  const id = fields.id === undefined ? undefined : readId(fields.id, type, field(place, 'id'), issues)
  checkTexts(fields, type, place, issues)
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
  checkRenderings(content, place, issues, allParts, allowance)
  return issues.length > before ? undefined : { content, id, place }
}

/** The parts of a body that create and update check alike. */
export const checkTexts = (
  fields: {
    readonly mask?: Json | null
    readonly metadata?: Readonly<Record<string, Json>> | null
    readonly search_indexes?: readonly string[] | null
    readonly fingerprint_expression?: string | null
  },
  type: TokenType,
  place: string,
  issues: Issue[],
): void => {
  if (fields.mask !== undefined && fields.mask !== null)
    checkMask(fields.mask, type, field(place, 'mask'), issues)
  if (fields.metadata) checkMetadata(fields.metadata, field(place, 'metadata'), issues)
  fields.search_indexes?.forEach((text, index) => {
    checkExpression(text, 'index', type, element(field(place, 'search_indexes'), index), issues)
  })
  if (typeof fields.fingerprint_expression === 'string')
    checkExpression(
      fields.fingerprint_expression,
      'fingerprint',
      type,
      field(place, 'fingerprint_expression'),
      issues,
    )
}

/** The parts of a token that hold expressions. */
export type RenderedPart = 'mask' | 'search_indexes' | 'fingerprint_expression'
const allParts: readonly RenderedPart[] = ['mask', 'search_indexes', 'fingerprint_expression']

/**
 * Renders the expressions of the token once, so that what cannot be rendered, or would show too much of a
 * card, is refused when it is written. Only for callers who know the data: to others the answer would tell
 * something about it (C13).
 */
export const checkRenderings = (
  token: Pick<Token, 'type' | 'data' | 'metadata' | 'mask' | 'searchIndexes' | 'fingerprintExpression'>,
  place: string,
  issues: Issue[],
  parts: readonly RenderedPart[] = allParts,
  allowance = new Allowance(),
): void => {
  const data = token.data.expose('trying the expressions of a caller who knows the data')
  const attempt = (path: string, render: () => unknown): unknown => {
    try {
      return render()
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      issues.push({ path, message: error.message })
      return undefined
    }
  }
  if (parts.includes('mask') && token.mask.from === 'caller') {
    const { template } = token.mask
    const path = field(place, 'mask')
    const faults = issues.length
    attempt(path, () => renderMask(template, data, allowance))
    if (disclosesCard(template, token.type, data, allowance)) issues.push({ path, message: tooMuchOfACard })
    else if (allowance.isSpent && issues.length === faults) issues.push({ path, message: 'too much work' })
  }
  if (parts.includes('search_indexes'))
    searchIndexesInForce(token).forEach((text, index) => {
      const path = element(field(place, 'search_indexes'), index)
      attempt(path, () =>
        compileExpression(text, 'index').render({ data }, undefined, budgetFor({ data }, allowance)),
      )
    })
  if (parts.includes('fingerprint_expression') && token.fingerprintExpression !== undefined) {
    const path = field(place, 'fingerprint_expression')
    const faults = issues.length
    const rendered = attempt(path, () => renderFingerprint(token, allowance))
    if (rendered === undefined && issues.length === faults)
      issues.push({ path, message: 'must not render null or an empty text' })
  }
}

export const tooMuchOfACard = 'must not render more of a card number than its first 8 and last 4 digits'

/** A literal id or an expression for one (C16). */
const readId = (text: string, type: TokenType, place: string, issues: Issue[]): Expression | undefined => {
  const expression = checkExpression(text, 'id', type, place, issues)
  if (expression?.isLiteral === true) {
    const message = tokenIdFault(text)
    if (message !== undefined) {
      issues.push({ path: place, message })
      return undefined
    }
  }
  return expression
}
