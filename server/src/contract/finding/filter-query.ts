import type { Issue } from '../../domain/errors.ts'
import { isJsonObject, type Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { parseContainerOrRoot } from '../../domain/tokens/containers.ts'
import type { MetadataPair, TokenFilter } from '../../domain/tokens/token-filter.ts'
import { tokenType, unknownTokenType } from '../../domain/tokens/types/registry.ts'
import type { QueryParameter } from '../endpoint.ts'
import { allValues, type QueryPair, singleValue } from '../query-pairs.ts'
import { textMap } from '../schema.ts'
import { tokenTypeName } from '../tokens/schemas.ts'
import { Type } from '../type.ts'

/**
 * One metadata key, as `metadata.<key>` (§4.3.8) or as `metadata[<key>]`, which is how client libraries generated from
 * OpenAPI documents write a map.
 */
const metadataName = /^metadata(?:\.(.+)|\[(.+)\])$/s

export const filterParameters: readonly QueryParameter[] = [
  { name: 'id', schema: Type.String(), description: 'Ids to return.', repeatable: true },
  { name: 'type', schema: tokenTypeName, description: 'Types to return.', repeatable: true },
  { name: 'container', schema: Type.String(), description: 'A container path; those below it count too.' },
  { name: 'fingerprint', schema: Type.String(), description: 'The fingerprint to look for.' },
  {
    name: 'metadata',
    pattern: metadataName,
    schema: textMap(),
    description:
      'Metadata keys and their values, each as metadata[key]=value or metadata.key=value, or all as one JSON object: metadata={"key":"value"}.',
    style: 'deepObject',
    example: { customer: '8' },
  },
]

/**
 * The filters of a list of tokens (§4.3, C24), whichever way it is paged. None may be repeated, except `id` and `type`, whose values
 * are ORed, and `metadata.<key>`, of which the first counts.
 */
export const readFilter = (pairs: readonly QueryPair[], issues: Issue[]): TokenFilter => {
  const single = (name: string): string | undefined => singleValue(pairs, name, issues)

  const ids = new Set(allValues(pairs, 'id'))
  const types = new Set(allValues(pairs, 'type'))
  for (const [name, values] of Object.entries({ id: ids, type: types }))
    if (values.size > limits.filterValuesMax)
      issues.push({ path: name, message: `must have at most ${limits.filterValuesMax} different values` })
  if ([...types].some(type => tokenType(type) === undefined))
    issues.push({ path: 'type', message: unknownTokenType })
  const containerText = single('container')
  const container =
    containerText === undefined ? undefined : parseContainerOrRoot(containerText, 'container', issues)
  const fingerprint = single('fingerprint')
  const metadata = readMetadata(pairs, single('metadata'), issues)
  return {
    metadata,
    ...(ids.size > 0 && { ids }),
    ...(types.size > 0 && { types: [...types] }),
    ...(container !== undefined && { container }),
    ...(fingerprint !== undefined && { fingerprint }),
  }
}

/**
 * Reads both spellings of `metadata.<key>`, of which the first counts if a key is repeated (§4.3.1), and the JSON
 * object in `metadata`. That is a parameter of its own, so a token has to match both (C24).
 */
const readMetadata = (
  pairs: readonly QueryPair[],
  json: string | undefined,
  issues: Issue[],
): MetadataPair[] => {
  const named = new Map<string, string>()
  for (const { name, value } of pairs) {
    const [, dotted, bracketed] = metadataName.exec(name) ?? []
    const key = dotted ?? bracketed
    if (key !== undefined && !named.has(key)) named.set(key, value)
  }
  const metadata: MetadataPair[] = [...named]
  if (json !== undefined) {
    const object = parseObject(json)
    if (object === undefined) issues.push({ path: 'metadata', message: 'must be a JSON object of strings' })
    for (const [key, value] of object ?? []) if (named.get(key) !== value) metadata.push([key, value])
  }
  if (metadata.length > limits.metadataKeys)
    issues.push({ path: 'metadata', message: `must name at most ${limits.metadataKeys} keys` })
  return metadata
}

const member = /("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")?/gs

/** Of a repeated key the first counts here too, where `JSON.parse` would keep the last. */
const parseObject = (text: string): Map<string, string> | undefined => {
  const members = new Map<string, string>()
  try {
    const value: Json = JSON.parse(text)
    if (!isJsonObject(value)) return undefined
    for (const [, name = '', content] of text.matchAll(member)) {
      if (content === undefined) return undefined
      const key: string = JSON.parse(name)
      if (!members.has(key)) members.set(key, JSON.parse(content))
    }
    return members
  } catch {
    return undefined
  }
}
