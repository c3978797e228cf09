import { endpoints } from '../../contract/endpoints.ts'
import type { Issue } from '../../domain/errors.ts'
import { getOwn, isJsonObject, type JsonObject } from '../../domain/json/json.ts'
import { element, field } from '../../domain/place.ts'
import { readExpiry } from '../../domain/time/date-time.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { parseContainers } from '../../domain/tokens/containers.ts'
import { checkExpressionsAndMetadata } from '../../domain/tokens/field-checks.ts'
import { tokenType } from '../../domain/tokens/types/registry.ts'

/**
 * What is wrong with the tokens that a proxy's response transforms would make, as far as it shows without their data (U19). An answer
 * that finds it out later is withheld.
 */
export const checkTokenDefinitions = (
  responseTransforms: readonly JsonObject[],
  place: string,
  now: Instant,
  issues: Issue[],
): void => {
  for (const [index, transform] of responseTransforms.entries()) {
    const token = getOwn(transform, 'token')
    if (getOwn(transform, 'type') !== 'tokenize' || !isJsonObject(token)) continue
    const at = field(element(place, index), 'token')
    // The schema asks for data, and takes any.
    const fields = endpoints.createToken.checkBody({ ...token, data: '' }, at, issues)
    const type = fields && tokenType(fields.type)
    if (fields === undefined || type === undefined) continue
    checkExpressionsAndMetadata(fields, type, at, issues)
    if (fields.containers !== undefined) parseContainers(fields.containers, field(at, 'containers'), issues)
    if (fields.expires_at !== undefined) readExpiry(fields.expires_at, field(at, 'expires_at'), now, issues)
  }
}
