import { parseRuleContainer } from '../domain/containers.ts'
import { didYouMean } from '../domain/did-you-mean.ts'
import { type Issue, invalid } from '../domain/errors.ts'
import { isJsonObject, type Json } from '../domain/json.ts'
import { limits } from '../domain/limits.ts'
import { chosenName } from '../domain/place.ts'
import type { TokenFilter } from '../domain/token-filter.ts'
import { tokenType } from '../domain/token-types/registry.ts'

export type QueryPair = { readonly name: string; readonly value: string }
export type ListQuery = { readonly filter: TokenFilter; readonly page: number; readonly size: number }

const parameters = ['id', 'type', 'container', 'fingerprint', 'metadata', 'page', 'size']
const metadataPrefix = 'metadata.'

/** The query of `GET /tokens` (§4.3, C24). An unknown or repeated parameter is refused (C6). */
export const readListQuery = (pairs: readonly QueryPair[]): ListQuery => {
  const issues: Issue[] = []
  const valuesOf = (name: string): string[] =>
    pairs.filter(pair => pair.name === name).map(pair => pair.value)
  const single = (name: string): string | undefined => {
    const values = valuesOf(name)
    if (values.length > 1) issues.push({ path: name, message: 'must not be repeated' })
    return values[0]
  }

  checkNames(pairs, issues)
  const ids = valuesOf('id')
  const types = valuesOf('type')
  for (const [name, values] of [
    ['id', ids],
    ['type', types],
  ] as const)
    if (values.length > limits.filterValuesMax)
      issues.push({ path: name, message: `must not be repeated more than ${limits.filterValuesMax} times` })
  if (types.some(type => tokenType(type) === undefined))
    issues.push({ path: 'type', message: 'is not a type of token that the vault knows' })
  const containerText = single('container')
  const container =
    containerText === undefined ? undefined : parseRuleContainer(containerText, 'container', issues)
  const fingerprint = single('fingerprint')
  const metadata = readMetadata(pairs, single('metadata'), issues)
  const page = readInteger(single('page'), 'page', 1, 1, 1_000_000_000, issues)
  const size = readInteger(single('size'), 'size', limits.pageSizeDefault, 1, limits.pageSizeMax, issues)
  if (issues.length > 0) throw invalid(...issues)
  return {
    page,
    size,
    filter: {
      metadata,
      ...(ids.length > 0 && { ids: [...new Set(ids)] }),
      ...(types.length > 0 && { types: [...new Set(types)] }),
      ...(container !== undefined && { container }),
      ...(fingerprint !== undefined && { fingerprint }),
    },
  }
}

const checkNames = (pairs: readonly QueryPair[], issues: Issue[]): void => {
  pairs.forEach(({ name }, index) => {
    if (parameters.includes(name)) return
    if (name.startsWith(metadataPrefix) && name.length > metadataPrefix.length) return
    const suggestion = didYouMean(name, parameters)
    issues.push({
      path: chosenName(name, index + 1),
      message: `is not a known query parameter${suggestion === undefined ? '' : `; did you mean "${suggestion}"?`}`,
    })
  })
}

/** Both spellings; of a repeated key the first counts (§4.3.1). */
const readMetadata = (
  pairs: readonly QueryPair[],
  json: string | undefined,
  issues: Issue[],
): ReadonlyMap<string, string> => {
  const metadata = new Map<string, string>()
  for (const { name, value } of pairs) {
    if (!name.startsWith(metadataPrefix) || metadata.has(name.slice(metadataPrefix.length))) continue
    metadata.set(name.slice(metadataPrefix.length), value)
  }
  if (json !== undefined) {
    const object = parseObject(json)
    if (object === undefined) issues.push({ path: 'metadata', message: 'must be a JSON object of strings' })
    for (const [key, value] of object ?? []) if (!metadata.has(key)) metadata.set(key, value)
  }
  if (metadata.size > limits.metadataKeys)
    issues.push({ path: 'metadata', message: `must name at most ${limits.metadataKeys} keys` })
  return metadata
}

const parseObject = (text: string): [string, string][] | undefined => {
  let value: Json
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const entries = Object.entries(value)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ? entries
    : undefined
}

const readInteger = (
  text: string | undefined,
  name: string,
  fallback: number,
  min: number,
  max: number,
  issues: Issue[],
): number => {
  if (text === undefined) return fallback
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  issues.push({ path: name, message: `must be a whole number from ${min} to ${max}` })
  return fallback
}
