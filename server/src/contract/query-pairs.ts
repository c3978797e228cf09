import type { Issue } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import { chosenName } from '../domain/place.ts'
import { didYouMean, nearestName, suggestion } from '../domain/text/did-you-mean.ts'
import type { QueryParameter } from './endpoint.ts'

/** One `name=value` of the query string, decoded. */
export type QueryPair = { readonly name: string; readonly value: string }

export const allValues = (pairs: readonly QueryPair[], name: string): string[] =>
  pairs.filter(pair => pair.name === name).map(({ value }) => value)

export const singleValue = (
  pairs: readonly QueryPair[],
  name: string,
  issues: Issue[],
): string | undefined => {
  const values = allValues(pairs, name)
  if (values.length > 1) issues.push({ path: name, message: 'must not be repeated' })
  return values[0]
}

/** C6: a misspelt filter must not return everything. */
export const checkNames = (
  pairs: readonly QueryPair[],
  parameters: readonly QueryParameter[],
  issues: Issue[],
): void => {
  const known = parameters.map(({ name }) => name)
  const maps = parameters.filter(({ pattern }) => pattern).map(({ name }) => name)
  for (const [index, { name }] of pairs.entries()) {
    if (parameters.some(parameter => parameter.name === name || parameter.pattern?.test(name))) continue
    // The head of a request has room for thousands of unknown names.
    if (issues.length >= limits.errorsPerAnswer) return
    issues.push({
      path: chosenName(name, index + 1),
      message: `is not a known query parameter${didYouMean(name, known) || memberMeant(name, maps)}`,
    })
  }
}

/** `metdata.color` and `metdata[color]` stand for a member of `metadata`. */
const memberMeant = (name: string, maps: readonly string[]): string => {
  const map = nearestName(name.split(/[.[]/, 1)[0] ?? '', maps)
  return suggestion(map && `${map}.<key>`)
}
