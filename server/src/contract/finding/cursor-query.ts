import { type Issue, requireNone } from '../../domain/errors.ts'
import type { TokenFilter } from '../../domain/tokens/token-filter.ts'
import type { QueryParameter } from '../endpoint.ts'
import { readSize, sizeParameter } from '../paging.ts'
import { checkNames, type QueryPair, singleValue } from '../query-pairs.ts'
import { Type } from '../type.ts'
import { filterParameters, readFilter } from './filter-query.ts'

export type CursorQuery = { readonly filter: TokenFilter; readonly start?: string; readonly size: number }

export const cursorParameters: readonly QueryParameter[] = [
  ...filterParameters,
  {
    name: 'start',
    schema: Type.String(),
    description: 'The `next` of the page before; the filters must be the same.',
  },
  sizeParameter,
]

/** The query of `GET /v2/tokens` (C25): the filters of C24, and `start`, which says where the previous page ended. */
export const readCursorQuery = (pairs: readonly QueryPair[]): CursorQuery => {
  const issues: Issue[] = []
  checkNames(pairs, cursorParameters, issues)
  const filter = readFilter(pairs, issues)
  const start = singleValue(pairs, 'start', issues)
  const size = readSize(pairs, issues)
  requireNone(issues)
  return { filter, size, ...(start !== undefined && start !== '' && { start }) }
}
