import { type Issue, requireNone } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import type { QueryParameter } from './endpoint.ts'
import { checkNames, type QueryPair, singleValue } from './query-pairs.ts'
import { Type } from './type.ts'

export type Page = { readonly page: number; readonly size: number }

const numbers = { minimum: 1, maximum: limits.pageNumberMax, default: 1 }
const sizes = { minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault }

/** In bodies the default is stated in words: generated clients take a field with a `default` to be always present. */
const inBody = ({ minimum, maximum, default: usual }: typeof numbers, description: string) =>
  Type.Integer({ minimum, maximum, description: `${description} Default: ${usual}.` })
export const pageNumber = inBody(numbers, 'Page number, from 1.')
export const pageSize = inBody(sizes, 'Entries per page.')

/** §2.6, C24: the position of a page among all pages. */
export const Pagination = Type.Object({
  total_items: Type.Integer(),
  page_number: Type.Integer(),
  page_size: Type.Integer({ examples: [20] }),
  total_pages: Type.Integer(),
})

export const sizeParameter: QueryParameter = {
  name: 'size',
  schema: Type.Integer(sizes),
  description: 'Entries per page.',
}
export const pageParameters: readonly QueryParameter[] = [
  { name: 'page', schema: Type.Integer(numbers), description: 'Page number, from 1.' },
  sizeParameter,
]

/** `page` counted from 1, and `size` (C24); a value out of range becomes an issue. */
export const readPage = (pairs: readonly QueryPair[], issues: Issue[]): Page => ({
  page: readInteger(pairs, 'page', numbers, issues) ?? numbers.default,
  size: readSize(pairs, issues),
})

/** The query of a list that takes a page and nothing else. */
export const readPageQuery = (pairs: readonly QueryPair[]): Page => {
  const issues: Issue[] = []
  checkNames(pairs, pageParameters, issues)
  const page = readPage(pairs, issues)
  requireNone(issues)
  return page
}

export const readSize = (pairs: readonly QueryPair[], issues: Issue[]): number =>
  readInteger(pairs, 'size', sizes, issues) ?? sizes.default

/** Undefined if it is not given, or out of range, which becomes an issue. */
export const readInteger = (
  pairs: readonly QueryPair[],
  name: string,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
  issues: Issue[],
): number | undefined => {
  const text = singleValue(pairs, name, issues)
  if (text === undefined) return undefined
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= minimum && value <= maximum) return value
  issues.push({ path: name, message: `must be a whole number from ${minimum} to ${maximum}` })
  return undefined
}
