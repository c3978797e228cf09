import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Entries are moved part by part. A part holds all entries whose terms begin with the same byte. */
export const partCount = 256

/** Some terms of one tenant. */
export type TenantTerms = { readonly tenant: number; readonly terms: readonly Uint8Array[] }

type Entry = { readonly place: number; readonly tenant: number; readonly term: string }

/**
 * The index entries that wait in storage, as one connection remembers them.
 *
 * The place of a fingerprint in the index is random, so each new one would dirty a page of its own. Instead, new entries are
 * appended to `waiting_terms`. Once there are thousands, they are moved into `terms` in the order of their terms, and many of
 * them share a page (waiting-writes.ts). A read first has the entries of its own terms moved (token-reads.ts).
 *
 * Storage records what waits and what has been moved, in the transaction that does it. So this memory may be lost at any time, it
 * may hold entries that wait no more, and every process can have its own.
 */
export class WaitingEntries {
  readonly #readProgress: StatementSync
  readonly #readNewer: StatementSync
  readonly #parts: Entry[][] = Array.from({ length: partCount }, () => [])
  #newest = 0
  #oldest = Number.POSITIVE_INFINITY
  #upTo = 0
  #movedParts = partCount

  constructor(database: DatabaseSync) {
    this.#readProgress = database.prepare(
      `SELECT up_to, parts, (SELECT min(place) FROM waiting_terms), (SELECT max(place) FROM waiting_terms)
       FROM waiting_moved WHERE id = 1`,
    )
    this.#readNewer = database.prepare('SELECT place, tenant, hex(term) FROM waiting_terms WHERE place > ?')
    for (const statement of [this.#readProgress, this.#readNewer]) statement.setReturnArrays(true)
  }

  /** The highest place that was ever taken. */
  get newest(): number {
    return this.#newest
  }

  /** The lowest place in storage, whether its entry was moved or not; infinite if there is none. */
  get oldest(): number {
    return this.#oldest
  }

  /** Entries up to this place are being moved, or have been. */
  get upTo(): number {
    return this.#upTo
  }

  /** How many parts of those entries have been moved. */
  get movedParts(): number {
    return this.#movedParts
  }

  /** Learns what has changed. Every transaction that relies on this memory begins with it. */
  catchUp(): void {
    const progress = this.#readProgress.get() as unknown as (number | null)[] | undefined
    const [upTo, movedParts, oldest, newest] = progress ?? []
    this.#oldest = oldest ?? Number.POSITIVE_INFINITY
    if (upTo !== this.#upTo) this.#forgetRemoved()
    this.#upTo = upTo ?? 0
    this.#movedParts = movedParts ?? partCount
    if ((newest ?? 0) > this.#newest)
      for (const row of this.#readNewer.all(this.#newest)) {
        const [place, tenant, term] = row as unknown as [number, number, string]
        this.#parts[partOf(term)]?.push({ place, tenant, term })
      }
    this.#newest = Math.max(this.#newest, this.#upTo, newest ?? 0)
  }

  /** Where entries of the term wait. */
  placesOf(tenant: number, term: Uint8Array): number[] {
    const name = nameOf(term)
    const part = partOf(name)
    return placesFrom(
      this.#remembered(part),
      entry => entry.term === name && entry.tenant === tenant && this.#isWaiting(entry, part),
    )
  }

  allPlaces(): number[] {
    return this.#parts.flatMap((entries, part) => placesFrom(entries, entry => this.#isWaiting(entry, part)))
  }

  /** Where the entries of a part wait that are to be moved, in the order of the index. */
  placesInPart(part: number): number[] {
    const sorted = this.#remembered(part).toSorted(
      (a, b) => a.tenant - b.tenant || (a.term < b.term ? -1 : 1),
    )
    return placesFrom(sorted, entry => entry.place <= this.#upTo && this.#isWaiting(entry, part))
  }

  /** How many entries of a part are remembered, including those that have been moved lately. */
  sizeOfPart(part: number): number {
    return this.#remembered(part).length
  }

  /** The entries of this term wait no more. */
  forget(tenant: number, term: Uint8Array): void {
    const name = nameOf(term)
    const part = partOf(name)
    this.#parts[part] = this.#remembered(part).filter(entry => entry.term !== name || entry.tenant !== tenant)
  }

  #remembered(part: number): readonly Entry[] {
    return this.#parts[part] ?? []
  }

  #isWaiting({ place }: Entry, part: number): boolean {
    return place > this.#upTo || (place >= this.#oldest && part >= this.#movedParts)
  }

  #forgetRemoved(): void {
    for (const [part, entries] of this.#parts.entries())
      this.#parts[part] = entries.filter(({ place }) => place >= this.#oldest)
  }
}

const placesFrom = (entries: readonly Entry[], isWanted: (entry: Entry) => boolean): number[] =>
  entries.filter(isWanted).map(({ place }) => place)

const nameOf = (term: Uint8Array): string => Buffer.from(term).toString('hex').toUpperCase()

/** An entry that waits no more has an empty term, which belongs to no part. */
const partOf = (name: string): number => Number.parseInt(name.slice(0, 2), 16)
