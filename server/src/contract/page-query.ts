import { didYouMean } from '../domain/did-you-mean.ts'
import type { Issue } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import { chosenName } from '../domain/place.ts'

export type QueryPair = { readonly name: string; readonly value: string }
export type Page = { readonly page: number; readonly size: number }

export const pageParameters = ['page', 'size']
export const pageMax = 1_000_000_000

/** `page` from 1 and `size` (C24); out of range is an issue. */
export const readPage = (pairs: readonly QueryPair[], issues: Issue[]): Page => ({
  page: readInteger(singleValue(pairs, 'page', issues), 'page', 1, pageMax, issues),
  size: readSize(pairs, issues),
})

export const readSize = (pairs: readonly QueryPair[], issues: Issue[]): number =>
  readInteger(singleValue(pairs, 'size', issues), 'size', limits.pageSizeDefault, limits.pageSizeMax, issues)

export const singleValue = (
  pairs: readonly QueryPair[],
  name: string,
  issues: Issue[],
): string | undefined => {
  const values = pairs.filter(pair => pair.name === name)
  if (values.length > 1) issues.push({ path: name, message: 'must not be repeated' })
  return values[0]?.value
}

/** C6: a misspelt filter must not return everything. */
export const unknownParameter = (name: string, index: number, known: readonly string[]): Issue => {
  const suggestion = didYouMean(name, known)
  return {
    path: chosenName(name, index + 1),
    message: `is not a known query parameter${suggestion === undefined ? '' : `; did you mean "${suggestion}"?`}`,
  }
}

const readInteger = (
  text: string | undefined,
  name: string,
  fallback: number,
  max: number,
  issues: Issue[],
): number => {
  if (text === undefined) return fallback
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (value >= 1 && value <= max) return value
  issues.push({ path: name, message: `must be a whole number from 1 to ${max}` })
  return fallback
}
