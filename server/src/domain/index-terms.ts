import { ancestors } from './containers.ts'
import { compileExpression, ExpressionError } from './expressions/expression.ts'
import { type Json, stringify } from './json.ts'
import { normaliseMetadataValue } from './metadata.ts'
import { fingerprintExpressionInForce, isBlind, searchIndexesInForce, type Token } from './token.ts'

/** What a token can be found by. The field takes part in the hash, so equal values of two fields differ. */
export type Term = { readonly field: string; readonly value: string }

export const containerTerm = (container: string): Term => ({ field: 'container', value: container })
/** In this very container, not below it. */
export const ownContainerTerm = (container: string): Term => ({ field: 'own-container', value: container })
export const typeTerm = (type: string): Term => ({ field: 'type', value: type })
export const fingerprintTerm = (fingerprint: string): Term => ({ field: 'fingerprint', value: fingerprint })
export const metadataTerm = (key: string, value: string): Term => ({
  field: `metadata.${key}`,
  value: normaliseMetadataValue(value),
})
export const dataTerm = (value: string): Term => ({ field: 'data', value: normaliseMetadataValue(value) })

/** C15: what two tokens must share to be one and the same; undefined where the token takes no part. */
export const matchTerm = (token: Token): Term | undefined =>
  token.fingerprint === undefined || isBlind(token)
    ? undefined
    : {
        field: 'match',
        value: JSON.stringify([
          token.fingerprint,
          fingerprintExpressionInForce(token),
          [...token.containers].sort(),
        ]),
      }

/** Every term of the token, without repetition. */
export const indexTerms = (token: Token): Term[] => {
  const terms = new Map<string, Term>()
  const add = (term: Term | undefined): void => {
    if (term !== undefined) terms.set(`${term.field}\0${term.value}`, term)
  }
  for (const container of token.containers) {
    for (const ancestor of ancestors(container)) add(containerTerm(ancestor))
    add(ownContainerTerm(container))
  }
  add(typeTerm(token.type.name))
  if (token.fingerprint !== undefined) add(fingerprintTerm(token.fingerprint))
  add(matchTerm(token))
  for (const [key, value] of Object.entries(token.metadata ?? {})) add(metadataTerm(key, value))
  for (const value of searchValues(token)) add(dataTerm(value))
  return [...terms.values()]
}

/** What the search indexes render; one that renders nothing, or cannot be rendered, finds nothing. */
export const searchValues = (token: Token): string[] => {
  const expressions = searchIndexesInForce(token)
  if (expressions.length === 0) return []
  const data = token.data.expose('rendering search indexes, which leave as keyed hashes')
  return expressions.flatMap(text => {
    try {
      const value = compileExpression(text, 'index').render({ data })
      const found = textOf(value)
      return found === '' ? [] : [found]
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
