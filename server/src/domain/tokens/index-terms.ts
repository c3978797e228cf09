import { compileExpression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { foldText } from '../fold-text.ts'
import { type Json, stringify } from '../json/json.ts'
import { ancestors } from './containers.ts'
import { fingerprintExpressionInForce, isBlind, searchIndexesInForce, type Token } from './token.ts'

/** What a token can be found by. The field is part of the hash, so equal values of different fields differ. */
export type Term = { readonly field: string; readonly value: string }

/** A term of a token. `isAbove` marks a container in which the token does not lie directly, but somewhere below. */
export type OwnTerm = Term & { readonly isAbove?: true }

export const containerTerm = (container: string): Term => ({ field: 'container', value: container })
export const typeTerm = (type: string): Term => ({ field: 'type', value: type })
export const fingerprintTerm = (fingerprint: string): Term => ({ field: 'fingerprint', value: fingerprint })
export const metadataTerm = (key: string, value: string): Term => ({
  field: `metadata.${key}`,
  value: foldText(value),
})
export const dataTerm = (value: string): Term => ({ field: 'data', value: foldText(value) })

/**
 * C15: what two tokens with the same fingerprint must also share to stand for the same value; undefined for a token
 * that takes no part in deduplication.
 */
export const matchTag = (token: Token): string | undefined =>
  token.fingerprint === undefined || isBlind(token)
    ? undefined
    : JSON.stringify([fingerprintExpressionInForce(token), [...token.containers].sort()])

/** Covers every token, so it is not indexed: listing everything means listing every type. */
const root = '/'

/** The token's own containers and all that cover them: the token is found under each. */
export const containerTerms = (containers: readonly string[]): OwnTerm[] => {
  const covering = new Set(containers.flatMap(ancestors))
  covering.delete(root)
  return [...covering].map(container =>
    containers.includes(container)
      ? containerTerm(container)
      : { ...containerTerm(container), isAbove: true },
  )
}

/** The terms of the token's metadata and search indexes, each once. */
export const contentTerms = (token: Token): Term[] => {
  const terms: Term[] = []
  if (token.metadata !== undefined)
    for (const [key, value] of Object.entries(token.metadata)) terms.push(metadataTerm(key, value))
  const data = searchValues(token).map(dataTerm)
  // Two search indexes may render the same value.
  terms.push(...data.filter(({ value }, index) => data.findIndex(other => other.value === value) === index))
  return terms
}

export const searchValues = (token: Token): string[] => indexedValues(token).map(({ value }) => value)

/** What the search indexes render; one that renders nothing, or cannot be rendered, is left out. */
export const indexedValues = (token: Token): { expression: string; value: string }[] => {
  const expressions = searchIndexesInForce(token)
  if (expressions.length === 0) return []
  const data = token.data.expose('rendering search indexes, which leave as keyed hashes')
  return expressions.flatMap(expression => {
    try {
      const value = textOf(compileExpression(expression, 'index').render({ data }))
      return value === '' ? [] : [{ expression, value }]
    } catch (error) {
      if (error instanceof ExpressionError) return []
      throw error
    }
  })
}

const textOf = (value: Json): string => {
  if (value === null) return ''
  return typeof value === 'string' ? value : stringify(value)
}
