import { type Issue, invalid } from '../domain/errors.ts'
import type { TokenFilter } from '../domain/token-filter.ts'
import { readFilter } from './list-query.ts'
import { type QueryPair, readSize, singleValue } from './page-query.ts'

export type CursorQuery = { readonly filter: TokenFilter; readonly start?: string; readonly size: number }

/** The query of `GET /v2/tokens` (C25): the filters of C24; `start` is where the page before ended. */
export const readCursorQuery = (pairs: readonly QueryPair[]): CursorQuery => {
  const issues: Issue[] = []
  const filter = readFilter(pairs, ['start', 'size'], issues)
  const start = singleValue(pairs, 'start', issues)
  const size = readSize(pairs, issues)
  if (issues.length > 0) throw invalid(...issues)
  return { filter, size, ...(start !== undefined && start !== '' && { start }) }
}
