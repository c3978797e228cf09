import { actResults, entityTypes } from '../../domain/acts/act.ts'
import type { LogFilter } from '../../domain/acts/log-filter.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import { didYouMean } from '../../domain/text/did-you-mean.ts'
import { dateForms, parseDateTime } from '../../domain/time/date-time.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { QueryParameter } from '../endpoint.ts'
import { readInteger } from '../paging.ts'
import { checkNames, type QueryPair, singleValue } from '../query-pairs.ts'
import { choice } from '../schema.ts'
import { Type } from '../type.ts'

export type LogPageQuery = { readonly filter: LogFilter; readonly start?: string; readonly size: number }
/** Without a size, an export has all records. */
export type LogExportQuery = Omit<LogPageQuery, 'size'> & { readonly size?: number }

/** Also the options of the commands that read a log. */
export const logFilterParameters: readonly QueryParameter[] = [
  { name: 'entity_type', schema: choice(entityTypes), description: 'What was acted on.' },
  { name: 'entity_id', schema: Type.String(), description: 'The id of what was acted on.' },
  { name: 'start_date', schema: Type.String(), description: `The earliest time, such as ${dateForms}.` },
  { name: 'end_date', schema: Type.String(), description: 'The time before which it was.' },
  { name: 'actor_id', schema: Type.String(), description: 'The application that did it.' },
  { name: 'operation', schema: Type.String(), description: 'What was done: the operationId of an endpoint.' },
  { name: 'result', schema: choice(actResults), description: 'What came of it.' },
  { name: 'trace_id', schema: Type.String(), description: 'The trace id of the request.' },
  {
    name: 'token_id',
    schema: Type.String(),
    description: 'A token that was shown, changed or refused, alone or among others.',
  },
]

const pageSizes = { minimum: 1, maximum: limits.logPageSizeMax, default: limits.logPageSizeDefault }
const exportSizes = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }

export const logPageParameters: readonly QueryParameter[] = [
  ...logFilterParameters,
  {
    name: 'start',
    schema: Type.String(),
    description: 'The `next` of the page before; the filters must be the same.',
  },
  { name: 'size', schema: Type.Integer(pageSizes), description: 'Entries per page, at most.' },
]

export const logExportParameters: readonly QueryParameter[] = [
  ...logFilterParameters,
  {
    name: 'start',
    schema: Type.String(),
    description: 'The last `next` of an export that this one continues; the filters must be the same.',
  },
  { name: 'size', schema: Type.Integer(exportSizes), description: 'Records, at most. Default: all.' },
]

/** The query of `GET /logs` (L5). */
export const readLogPageQuery = (pairs: readonly QueryPair[]): LogPageQuery => {
  const issues: Issue[] = []
  checkNames(pairs, logPageParameters, issues)
  const read = {
    ...readRest(pairs, issues),
    size: readInteger(pairs, 'size', pageSizes, issues) ?? pageSizes.default,
  }
  requireNone(issues)
  return read
}

/** The query of `GET /logs/export` (L5). */
export const readLogExportQuery = (pairs: readonly QueryPair[]): LogExportQuery => {
  const issues: Issue[] = []
  checkNames(pairs, logExportParameters, issues)
  const size = readInteger(pairs, 'size', exportSizes, issues)
  const read = { ...readRest(pairs, issues), ...(size !== undefined && { size }) }
  requireNone(issues)
  return read
}

const readRest = (pairs: readonly QueryPair[], issues: Issue[]): Omit<LogExportQuery, 'size'> => {
  const start = singleValue(pairs, 'start', issues)
  return { filter: readFilter(pairs, issues), ...(start !== undefined && start !== '' && { start }) }
}

const readFilter = (pairs: readonly QueryPair[], issues: Issue[]): LogFilter => {
  const date = (name: string): Instant | undefined => {
    const text = singleValue(pairs, name, issues)
    const read = text === undefined ? undefined : parseDateTime(text)
    if (text !== undefined && read === undefined)
      issues.push({ path: name, message: `must be a date like ${dateForms}` })
    return read?.at
  }
  const oneOf = <const V extends readonly string[]>(name: string, values: V): V[number] | undefined => {
    const text = singleValue(pairs, name, issues)
    const read = values.find(value => value === text)
    if (text !== undefined && read === undefined)
      issues.push({ path: name, message: `must be one of ${values.join(', ')}${didYouMean(text, values)}` })
    return read
  }
  const text = (name: string): string | undefined => singleValue(pairs, name, issues)
  return withoutAbsent({
    entity_type: oneOf('entity_type', entityTypes),
    entity_id: text('entity_id'),
    start_date: date('start_date'),
    end_date: date('end_date'),
    actor_id: text('actor_id'),
    operation: text('operation'),
    result: oneOf('result', actResults),
    trace_id: text('trace_id'),
    token_id: text('token_id'),
  })
}

const withoutAbsent = (
  filter: { readonly [Name in keyof LogFilter]: LogFilter[Name] | undefined },
): LogFilter =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as LogFilter
