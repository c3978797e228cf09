import { type Issue, requireNone } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import type { QueryParameter } from '../endpoint.ts'
import { readInteger } from '../paging.ts'
import { checkNames, type QueryPair, singleValue } from '../query-pairs.ts'
import { Type } from '../type.ts'

const pageSizes = { minimum: 1, maximum: limits.eventPageSizeMax, default: limits.eventPageSizeDefault }

export const deliveryPageParameters: readonly QueryParameter[] = [
  { name: 'start', schema: Type.String(), description: 'The `next` of the page before.' },
  { name: 'size', schema: Type.Integer(pageSizes), description: 'Deliveries per page, at most.' },
]

/** The query of `GET /webhooks/<id>/deliveries` (E5). */
export const readDeliveryPageQuery = (
  pairs: readonly QueryPair[],
): { readonly start?: string; readonly size: number } => {
  const issues: Issue[] = []
  checkNames(pairs, deliveryPageParameters, issues)
  const start = singleValue(pairs, 'start', issues)
  const size = readInteger(pairs, 'size', pageSizes, issues) ?? pageSizes.default
  requireNone(issues)
  return { size, ...(start !== undefined && start !== '' && { start }) }
}
