import type { Transform } from '../access/application.ts'
import { getOwn } from '../json/json.ts'
import { covers } from './containers.ts'
import { containerTerm, fingerprintTerm, foldText, metadataTerm, type Term, typeTerm } from './index-terms.ts'
import type { Token } from './token.ts'

export type MetadataPair = readonly [key: string, value: string]

/** The filters of a list (C24): different parameters are ANDed, the values of one are ORed. */
export type TokenFilter = {
  readonly ids?: ReadonlySet<string>
  readonly types?: readonly string[]
  readonly container?: string
  readonly fingerprint?: string
  /** Keys, each with the value that it must have. */
  readonly metadata: readonly MetadataPair[]
}

/** The filter as groups of terms, the most selective first: a token must have a term of each group. Ids are not terms. */
export const filterTerms = (filter: TokenFilter): Term[][] => [
  ...(filter.fingerprint === undefined ? [] : [[fingerprintTerm(filter.fingerprint)]]),
  ...filter.metadata.map(([key, value]) => [metadataTerm(key, value)]),
  ...(filter.container === undefined || filter.container === '/' ? [] : [[containerTerm(filter.container)]]),
  ...(filter.types === undefined ? [] : [filter.types.map(typeTerm)]),
]

/** An index only proposes; the opened token decides. Under `redact` a token cannot be found by its fingerprint (C12). */
export const matchesFilter = (token: Token, filter: TokenFilter, transform: Transform): boolean => {
  const { ids, types, container, fingerprint, metadata } = filter
  if (ids !== undefined && !ids.has(token.id)) return false
  if (types !== undefined && !types.includes(token.type.name)) return false
  if (container !== undefined && !token.containers.some(own => covers(container, own))) return false
  if (fingerprint !== undefined && (transform === 'redact' || token.fingerprint !== fingerprint)) return false
  for (const [key, value] of metadata) {
    const own = token.metadata && getOwn(token.metadata, key)
    if (own === undefined || foldText(own) !== foldText(value)) return false
  }
  return true
}

/** What a record says of a filter: which parameters it has, but neither values nor keys, which are the caller's. */
export const filterNames = ({ ids, types, container, fingerprint, metadata }: TokenFilter): string[] => [
  ...(ids === undefined ? [] : ['id']),
  ...(types === undefined ? [] : ['type']),
  ...(container === undefined ? [] : ['container']),
  ...(fingerprint === undefined ? [] : ['fingerprint']),
  ...(metadata.length === 0 ? [] : ['metadata.*']),
]

/** The same text for every spelling of the same filter: what a cursor is bound to (C25). */
export const filterText = ({ ids, types, container, fingerprint, metadata }: TokenFilter): string =>
  JSON.stringify([
    ids && [...ids].sort(),
    types && [...types].sort(),
    container,
    fingerprint,
    metadata.map(([key, value]) => JSON.stringify([key, foldText(value)])).sort(),
  ])
