import type { LogPageQuery } from '../../contract/log/query.ts'
import { type LogRecord, lineOf } from '../../domain/acts/block.ts'
import { logMatcher } from '../../domain/acts/log-filter.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { pace } from '../../domain/pace.ts'
import type { Vault } from '../vault/vault.ts'
import { LogQuery } from './log-query.ts'
import { type LogReader, rangesWithin, readRecords } from './read-records.ts'

export type LogPage = { readonly pagination: JsonObject & { next?: string }; readonly data: JsonObject[] }

/**
 * L5: newest first. A page goes on below the numbers at which the one before ended, so what was recorded since shifts nothing. It
 * examines a bounded number of records, so it may be short, or empty, and still have a next one.
 */
export const listLogs = async (
  vault: Vault,
  reader: LogReader,
  { filter, start, size }: LogPageQuery,
): Promise<LogPage> => {
  const query = new LogQuery(vault, reader, 'list', filter)
  const from = query.positionOf(start)
  const heads = await vault.store.listLogHeads(reader.tenantNumber)
  // Writers that came later have nothing but newer records.
  const ranges = heads.map(head => ({
    writer: head.writer,
    first: head.start,
    end: from === undefined ? head.size : (from.get(head.writer) ?? 0),
  }))
  const reading = { within: query.within, backwards: true }
  const wanted = from === undefined ? await rangesWithin(vault, reader, ranges, reading) : ranges
  const position = new Map(wanted.map(({ writer, end }) => [writer, end]))
  const isMeant = logMatcher(filter)
  const records: LogRecord[] = []
  let examined = 0
  let bytes = 0
  const isFull = (): boolean =>
    records.length === size || examined === pace.logPageRecords || bytes > pace.pageBatchBytes
  const page = (isLast: boolean): LogPage => ({
    pagination: { page_size: size, ...(!isLast && { next: query.cursorAt(position) }) },
    data: records.sort((a, b) => (a.id < b.id ? 1 : -1)).map(entryOf),
  })
  for await (const run of readRecords(vault, reader, wanted, reading))
    for (const { writer, next, record } of run) {
      if (isFull()) return page(false)
      position.set(writer, next)
      examined++
      if (record === undefined || !isMeant(record)) continue
      records.push(record)
      bytes += lineOf(record).length
    }
  return page(true)
}

/** The record, and some of it once more under the names that clients of compatible services know. */
const entryOf = (record: LogRecord): JsonObject => {
  const { at, actor, operation, result, status } = record
  return {
    ...record,
    ...(actor.id !== undefined && { actor_id: actor.id }),
    actor_type: actor.type,
    message: `${operation} ${result}${typeof status === 'number' ? ` (${status})` : ''}`,
    created_at: at,
  }
}
