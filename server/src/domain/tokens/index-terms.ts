import { ancestors, covers } from './containers.ts'
import { renderIndexes } from './hash-inputs.ts'
import { fingerprintExpressionInForce, isAtHome, isBlind, searchIndexesInForce, type Token } from './token.ts'
import { tokenTypes } from './types/registry.ts'

/** More marks on one letter than any script has (UAX #15, stream-safe text). */
const manyMarks = /\p{M}{30}/gu
const joiner = '\u034f'

/** The form in which filters and search compare values (§4.3, C24, C26): letter case and composition do not matter. */
export const foldText = (value: string): string =>
  // Normalized twice: a letter may have a composed form in lower case and none in upper case.
  bounded(value).normalize('NFC').toLowerCase().normalize('NFC')

/** Composing sorts the marks of a letter in quadratic time: a quarter of a megabyte of them took 11 s. */
const bounded = (value: string): string => value.replace(manyMarks, `$&${joiner}`)

/** What a token can be found by. The field is part of the hash, so equal values of different fields differ. */
export type Term = { readonly field: string; readonly value: string }

/** The tokens of a type. */
export const typeTerm = (type: string): Term => ({ field: 'type', value: type })
/** The tokens in a container or below it. */
export const containerTerm = (container: string): Term => ({ field: 'container', value: container })
/** The tokens in a container itself. */
export const directContainerTerm = (container: string): Term => ({ field: 'direct', value: container })
export const fingerprintTerm = (fingerprint: string): Term => ({ field: 'fingerprint', value: fingerprint })
export const metadataTerm = (key: string, value: string): Term => ({
  field: `metadata.${key}`,
  value: foldText(value),
})
export const dataTerm = (value: string): Term => ({ field: 'data', value: foldText(value) })

/** A group of terms of which every token has one. */
export const everyType: readonly Term[] = [...tokenTypes.keys()].map(typeTerm)

/** A group of terms of which exactly the tokens under these containers have one. */
export const termsUnder = (roots: readonly string[]): readonly Term[] =>
  roots.includes('/') ? everyType : roots.map(containerTerm)

/** A name unique to the term. It includes the length of the field, because a metadata key may contain a space. */
export const nameOfTerm = ({ field, value }: Term): string => `${field.length} ${field} ${value}`

/** The same group without repetitions: no term occurs twice, and no container lies within another. */
export const withoutOverlap = (terms: readonly Term[]): readonly Term[] => {
  const distinct = new Map(terms.map(term => [nameOfTerm(term), term]))
  return [...distinct.values()].filter(
    ({ field, value }) =>
      field !== 'container' ||
      !ancestors(value).some(outer => outer !== value && distinct.has(nameOfTerm(containerTerm(outer)))),
  )
}

/**
 * C15: what two tokens with the same fingerprint must also share to stand for the same value; undefined for a token
 * that takes no part in deduplication.
 */
export const matchTag = (token: Token): string | undefined =>
  token.fingerprint === undefined || isBlind(token)
    ? undefined
    : JSON.stringify([fingerprintExpressionInForce(token), [...token.containers].sort()])

/** The token's own containers and all that cover them, except the root, which covers every token. */
export const coveringContainers = (containers: readonly string[]): string[] => {
  const covering = new Set(containers.flatMap(ancestors))
  covering.delete('/')
  return [...covering]
}

/** A token of this type in the container where its type puts it. One term says both. */
const homeTerm = (type: string): Term => ({ field: 'home', value: type })
/** A token somewhere below the container. */
const belowTerm = (container: string): Term => ({ field: 'below', value: container })

/** The index terms of a token's type and containers. Most tokens are at home and have a single one. */
export const categoryTerms = (token: Pick<Token, 'type' | 'containers'>): Term[] => {
  const { type, containers } = token
  const own = new Set(containers)
  return isAtHome(token)
    ? [homeTerm(type.name)]
    : [
        ...coveringContainers(containers).map(container =>
          own.has(container) ? directContainerTerm(container) : belowTerm(container),
        ),
        typeTerm(type.name),
      ]
}

/** A few terms of types and containers recur in almost every token, list and rule. All other terms differ from token to token. */
export const isOfCategory = ({ field }: Term): boolean => categoryFields.has(field)
const categoryFields = new Set(['type', 'home', 'container', 'direct', 'below'])

/** The index terms of the tokens that a term asks for. */
export const indexedAs = (term: Term): Term[] => {
  const { field, value } = term
  const homes = (isAsked: (container: string) => boolean): Term[] =>
    [...tokenTypes.values()].filter(type => isAsked(type.container)).map(type => homeTerm(type.name))
  if (field === 'type') return [term, homeTerm(value)]
  if (field === 'direct') return [term, ...homes(container => container === value)]
  if (field === 'container')
    return [directContainerTerm(value), belowTerm(value), ...homes(container => covers(value, container))]
  return [term]
}

/** A token's metadata, each a term of its own. */
export const metadataTerms = ({ metadata = {} }: Pick<Token, 'metadata'>): Term[] =>
  Object.entries(metadata).map(([key, value]) => metadataTerm(key, value))

/** The term of each search index in force; null if it renders nothing or cannot be rendered. */
export const searchIndexTerms = (token: Pick<Token, 'data' | 'searchIndexes' | 'type'>): (Term | null)[] => {
  const expressions = searchIndexesInForce(token)
  if (expressions.length === 0) return []
  const data = token.data.expose('rendering search indexes, which leave as keyed hashes')
  return renderIndexes(expressions, data).map(rendered =>
    'fault' in rendered || rendered.value === '' ? null : dataTerm(rendered.value),
  )
}

/** The most index entries that a token may have, computed without rendering. */
export const countTerms = (
  token: Pick<Token, 'type' | 'containers' | 'metadata' | 'searchIndexes'>,
): number => {
  const ofContainers = isAtHome(token) ? 0 : coveringContainers(token.containers).length
  const fingerprintAndType = 2
  return (
    ofContainers +
    Object.keys(token.metadata ?? {}).length +
    searchIndexesInForce(token).length +
    fingerprintAndType
  )
}
