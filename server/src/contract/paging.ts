import { didYouMean } from '../domain/did-you-mean.ts'
import type { Issue } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import { chosenName } from '../domain/place.ts'
import type { QueryParameter } from './endpoint.ts'
import { Type } from './type.ts'

export type QueryPair = { readonly name: string; readonly value: string }
export type Page = { readonly page: number; readonly size: number }

const numbers = { minimum: 1, maximum: limits.pageNumberMax, default: 1 }
const sizes = { minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault }
export const pageNumber = Type.Integer(numbers)
export const pageSize = Type.Integer(sizes)

/** §2.6, C24: where a page stands among the others. */
export const Pagination = Type.Object({
  total_items: Type.Integer(),
  page_number: Type.Integer(),
  page_size: Type.Integer(),
  total_pages: Type.Integer(),
})

export const sizeParameter: QueryParameter = {
  name: 'size',
  schema: pageSize,
  description: 'Entries per page.',
}
export const pageParameters: readonly QueryParameter[] = [
  { name: 'page', schema: pageNumber, description: 'Which page, from 1.' },
  sizeParameter,
]

/** `page` from 1 and `size` (C24); out of range is an issue. */
export const readPage = (pairs: readonly QueryPair[], issues: Issue[]): Page => ({
  page: readInteger(pairs, 'page', numbers, issues),
  size: readSize(pairs, issues),
})

export const readSize = (pairs: readonly QueryPair[], issues: Issue[]): number =>
  readInteger(pairs, 'size', sizes, issues)

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
export const refuseUnknown = (
  pairs: readonly QueryPair[],
  parameters: readonly QueryParameter[],
  issues: Issue[],
): void => {
  const known = parameters.map(({ name }) => name)
  for (const [index, { name }] of pairs.entries()) {
    if (parameters.some(parameter => parameter.name === name || parameter.pattern?.test(name))) continue
    // A head holds thousands of names.
    if (issues.length >= limits.errorsPerAnswer) return
    const suggestion = didYouMean(name, known)
    issues.push({
      path: chosenName(name, index + 1),
      message: `is not a known query parameter${suggestion === undefined ? '' : `; did you mean "${suggestion}"?`}`,
    })
  }
}

const readInteger = (
  pairs: readonly QueryPair[],
  name: string,
  range: typeof numbers,
  issues: Issue[],
): number => {
  const text = singleValue(pairs, name, issues)
  if (text === undefined) return range.default
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= range.minimum && value <= range.maximum) return value
  issues.push({ path: name, message: `must be a whole number from ${range.minimum} to ${range.maximum}` })
  return range.default
}
