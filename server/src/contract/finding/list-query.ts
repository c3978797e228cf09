import { type Issue, requireNone } from '../../domain/errors.ts'
import type { TokenFilter } from '../../domain/tokens/token-filter.ts'
import { type Page, pageParameters, readPage } from '../paging.ts'
import { checkNames, type QueryPair } from '../query-pairs.ts'
import { filterParameters, readFilter } from './filter-query.ts'

export type ListQuery = Page & { readonly filter: TokenFilter }

export const listParameters = [...filterParameters, ...pageParameters]

/** The query of `GET /tokens` (§4.3, C24): the filters, and a page by its number. */
export const readListQuery = (pairs: readonly QueryPair[]): ListQuery => {
  const issues: Issue[] = []
  checkNames(pairs, listParameters, issues)
  const filter = readFilter(pairs, issues)
  const page = readPage(pairs, issues)
  requireNone(issues)
  return { ...page, filter }
}
