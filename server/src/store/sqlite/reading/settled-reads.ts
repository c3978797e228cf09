import { setImmediate as nextIteration } from 'node:timers/promises'
import type { TokenQuery } from '../../port.ts'
import { branchesOf } from '../../sql/token-query.ts'
import { WaitingEntries } from '../waiting-entries.ts'
import type { WritingSide } from '../writing/writing-side.ts'
import type { ReadingSide } from './reading-side.ts'

/** Reads of index entries, some of which may still wait (waiting-entries.ts). */
export type SettledReads = {
  /** Runs the query once none of the terms' entries wait. */
  readSettled<T>(tenant: number, terms: readonly Uint8Array[], query: () => T | Promise<T>): Promise<T>
  /** The places where entries of the term wait. */
  placesOf(tenant: number, term: Uint8Array): readonly number[]
  /** Resolves once nothing waits. */
  settleAll(): Promise<void>
}

/** Reading one new entry takes a microsecond. Thousands are read in slices, with other requests in between. */
const entriesPerSlice = 2_000

export const settledReads = (
  { database, snapshot, read }: ReadingSide,
  writer: Pick<WritingSide, 'settle' | 'settleSome'>,
): SettledReads => {
  const waiting = new WaitingEntries(database)
  const find = database.prepare('SELECT 1 FROM waiting_terms WHERE place = ? AND term = ?')

  /** Checks whether remembered entries still wait. They may have been moved since, and asking the writer takes a hundred times longer. */
  const stillWaits = (tenant: number, term: Uint8Array): boolean => {
    const remembered = waiting.ofTerm(tenant, term)
    const isThere = remembered.places.some(place => find.get(place, term) !== undefined)
    if (!isThere) waiting.forget(remembered)
    return isThere
  }

  const readSettled: SettledReads['readSettled'] = (tenant, terms, query) =>
    read(() => {
      if (terms.length === 0) return query()
      // Within one snapshot: a query for tokens without a term must not find a token whose entry was added meanwhile.
      snapshot.join()
      if (!waiting.catchUp(entriesPerSlice))
        return nextIteration().then(() => readSettled(tenant, terms, query))
      const asked = terms.filter(term => stillWaits(tenant, term))
      if (asked.length === 0) return query()
      return writer.settle({ tenant, terms: asked }).then(() => {
        snapshot.end()
        // New entries may have come since. This ends, because the writer no longer lets entries wait for a term it was asked for.
        return readSettled(tenant, terms, query)
      })
    })

  return {
    readSettled,
    placesOf: (tenant, term) => {
      waiting.catchUp()
      return waiting.ofTerm(tenant, term).places
    },
    settleAll: async () => {
      while ((await writer.settleSome()) > 0);
      snapshot.end()
    },
  }
}

/** The terms whose entries decide what the query finds. */
export const termsOf = (query: TokenQuery): Uint8Array[] =>
  branchesOf(query).flatMap(({ groups, without = [] }) => [...groups.flat(), ...without])
