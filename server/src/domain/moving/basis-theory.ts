import { invalid } from '../errors.ts'
import { isJsonObject, type Json, type JsonObject, setOwn } from '../json/json.ts'
import { tokenTypes } from '../tokens/types/registry.ts'

/** What that service has decided or found out about a token: the vault decides it anew, or does not know it. */
const foreign: ReadonlySet<string> = new Set([
  'tenant_id',
  'fingerprint',
  'created_by',
  'created_at',
  'modified_by',
  'modified_at',
  'privacy',
  'encryption',
  'enrichments',
  'network_token',
  'authentication',
  'aliases',
  'extras',
  '_extras',
])

/**
 * A token as the list of Basis Theory shows it to a key with `reveal`. Fields of a create have the same names there; what it found out about a card
 * has the name of the type. What is not
 * known stays, and is refused like any unknown field.
 */
export const basisTheoryBody = (token: Json): Json => {
  if (!isJsonObject(token)) throw invalid({ path: '$', message: 'must be a token, or a page of tokens' })
  const body: JsonObject = {}
  for (const [name, value] of Object.entries(token))
    if (!foreign.has(name) && !tokenTypes.has(name)) setOwn(body, name, value)
  return body
}
