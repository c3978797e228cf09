import type { Issue } from '../errors.ts'
import type { Json } from '../json/json.ts'
import { element, field } from '../place.ts'
import { readExpression } from './expression-check.ts'
import { checkMask } from './mask.ts'
import { checkMetadata } from './metadata.ts'
import type { TokenType } from './types/token-type.ts'

/** The checks that create and update share, before anything is rendered. */
export const checkExpressionsAndMetadata = (
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
    readExpression(text, 'index', type, element(field(place, 'search_indexes'), index), issues)
  })
  if (typeof fields.fingerprint_expression === 'string')
    readExpression(
      fields.fingerprint_expression,
      'fingerprint',
      type,
      field(place, 'fingerprint_expression'),
      issues,
    )
}
