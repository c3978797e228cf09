import { type Issue, requireNone } from '../../domain/errors.ts'
import { eventPatterns } from '../../domain/events/event-types.ts'
import { limits } from '../../domain/limits.ts'
import { didYouMean } from '../../domain/text/did-you-mean.ts'
import type { QueryParameter } from '../endpoint.ts'
import { readInteger } from '../paging.ts'
import { allValues, checkNames, type QueryPair, singleValue } from '../query-pairs.ts'
import { choice } from '../schema.ts'
import { Type } from '../type.ts'

export type EventPageQuery = {
  /** Types, and families such as `token.*`; without any, all events. */
  readonly types: readonly string[]
  readonly start?: string
  readonly size: number
}

const pageSizes = { minimum: 1, maximum: limits.eventPageSizeMax, default: limits.eventPageSizeDefault }

export const eventPageParameters: readonly QueryParameter[] = [
  {
    name: 'type',
    schema: choice(eventPatterns),
    description:
      'Types to return, or families of types, such as token.*, which stand for all but token.read and token.used.',
    repeatable: true,
  },
  { name: 'start', schema: Type.String(), description: 'The `next` of the page before; types may change.' },
  { name: 'size', schema: Type.Integer(pageSizes), description: 'Events per page, at most.' },
]

/** The query of `GET /events` (E6). */
export const readEventPageQuery = (pairs: readonly QueryPair[]): EventPageQuery => {
  const issues: Issue[] = []
  checkNames(pairs, eventPageParameters, issues)
  const types = [...new Set(allValues(pairs, 'type'))]
  const unknown = types.find(type => !eventPatterns.includes(type))
  if (unknown !== undefined)
    issues.push({
      path: 'type',
      message: `must be a type of event, or a family such as token.*${didYouMean(unknown, eventPatterns)}`,
    })
  const start = singleValue(pairs, 'start', issues)
  const size = readInteger(pairs, 'size', pageSizes, issues) ?? pageSizes.default
  requireNone(issues)
  return { types, size, ...(start !== undefined && start !== '' && { start }) }
}
