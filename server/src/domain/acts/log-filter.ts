import { getOwn, isJsonObject, type Json } from '../json/json.ts'
import type { Instant } from '../time/instant.ts'
import type { ActResult, EntityType } from './act.ts'
import type { LogRecord } from './block.ts'

/** Which records of a log to show: those that have all of this. */
export type LogFilter = {
  readonly entity_type?: EntityType
  readonly entity_id?: string
  /** Records of acts at this time or later. */
  readonly start_date?: Instant
  /** Records of acts before this time. */
  readonly end_date?: Instant
  readonly actor_id?: string
  readonly operation?: string
  readonly result?: ActResult
  readonly trace_id?: string
  /** Records that name this token, alone or among others. */
  readonly token_id?: string
}

/** Tells which records are meant. */
export const logMatcher = (filter: LogFilter): ((record: LogRecord) => boolean) => {
  const { start_date: start, end_date: end, actor_id: actorId, token_id: tokenId } = filter
  const { entity_type: entityType, entity_id: entityId, trace_id: traceId, operation, result } = filter
  return record =>
    (start === undefined || Date.parse(record.at) >= start) &&
    (end === undefined || Date.parse(record.at) < end) &&
    (entityType === undefined || record.entity_type === entityType) &&
    (entityId === undefined || record.entity_id === entityId) &&
    (actorId === undefined || record.actor.id === actorId) &&
    (operation === undefined || record.operation === operation) &&
    (result === undefined || record.result === result) &&
    (traceId === undefined || record.trace_id === traceId) &&
    (tokenId === undefined || namesToken(record, tokenId))
}

/** A refusal names its token as the entity only, because it touched none. */
const namesToken = ({ entity_type: type, entity_id: id, tokens }: LogRecord, tokenId: string): boolean =>
  (type === 'token' && id === tokenId) ||
  (Array.isArray(tokens) && tokens.some(token => idOf(token) === tokenId))

const idOf = (token: Json): Json | undefined => (isJsonObject(token) ? getOwn(token, 'id') : undefined)

/** The same text for every spelling of the same filter: what a cursor is bound to. */
export const logFilterText = (filter: LogFilter): string =>
  JSON.stringify(Object.entries(filter).sort(([one], [other]) => (one < other ? -1 : 1)))
