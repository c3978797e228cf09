import { setImmediate as nextIteration } from 'node:timers/promises'
import { type ListPosition, requireProgress } from '../../../domain/tokens/list-position.ts'
import type { RowsWanted, TokenQuery, Turns } from '../../port.ts'
import type { TokenRow } from '../../rows.ts'
import { hasConditions, lookUpsOf, type SliceQuery, startsOf } from '../../sql/token-query.ts'

/** The short reads that slicing needs from storage. */
export type SliceReads = {
  list(query: SliceQuery, page: RowsWanted): TokenRow[]
  count(query: SliceQuery): number
  /** Where this many index entries from each start of the query end; undefined if that is the end of the index. */
  end(query: TokenQuery, entries: number): ListPosition | undefined
}

/**
 * Reads are synchronous here, so one that walks a million index entries would hold up every request. Instead it goes
 * slice by slice, and other requests run in between. An entry takes many times as long if further conditions need look-ups
 * elsewhere. The first slice is short, because most answers end there.
 */
const firstEntries = 1_000
const plainEntries = 20_000
const conditionalEntries = 2_000
/** The look-ups of one slice, some 5 ms: for an application with fifty rules, one entry may need a hundred. */
const lookUpsMax = 12_500
/** A query that starts from many places divides the entries of a slice among them, but each gets at least this many. */
const entriesMin = 4

async function* slices(
  query: TokenQuery,
  reads: SliceReads,
  turns: Turns | undefined,
): AsyncGenerator<SliceQuery> {
  const starts = Math.max(1, startsOf(query))
  const affordable = lookUpsMax / lookUpsOf(query)
  const shared = (entries: number): number =>
    Math.max(entriesMin, Math.floor(Math.min(entries, affordable) / starts))
  const entries = shared(hasConditions(query) ? conditionalEntries : plainEntries)
  let upTo = reads.end(query, shared(firstEntries))
  let rest = query
  while (upTo !== undefined) {
    requireProgress(rest.after, upTo)
    yield { ...rest, upTo }
    if (turns === undefined) await nextIteration()
    else if (!turns.hasTurn) await turns.turn()
    rest = { ...rest, after: upTo }
    upTo = reads.end(rest, entries)
  }
  yield rest
}

export const countInSlices = async (query: TokenQuery, reads: SliceReads, turns?: Turns): Promise<number> => {
  let total = 0
  for await (const slice of slices(query, reads, turns)) total += reads.count(slice)
  return total
}

/** If every entry is part of the answer, a page is a single read. */
export const listInSlices = async (
  query: TokenQuery,
  { offset, limit, bytesMax = Number.POSITIVE_INFINITY }: RowsWanted,
  reads: SliceReads,
  turns?: Turns,
): Promise<TokenRow[]> => {
  if (!hasConditions(query)) return reads.list(query, { offset, limit, bytesMax })
  const rows: TokenRow[] = []
  let bytes = 0
  let skip = offset
  for await (const slice of slices(query, reads, turns)) {
    const before = skip === 0 ? 0 : reads.count(slice)
    if (skip > 0 && before <= skip) skip -= before
    else {
      const found = reads.list(slice, {
        offset: skip,
        limit: limit - rows.length,
        bytesMax: bytesMax - bytes,
      })
      for (const { sealed } of found) bytes += sealed.length
      rows.push(...found)
      skip = 0
    }
    if (rows.length >= limit || bytes >= bytesMax) break
  }
  return rows
}
