import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limited } from '../sql/dialect.ts'

/** Entries are moved part by part. A part holds all entries whose terms begin with the same byte. */
export const partCount = 256

/** Some terms of one tenant. */
export type TenantTerms = { readonly tenant: number; readonly terms: readonly Uint8Array[] }

/** Entries of one part, by their places. */
export type PlacesOfPart = { readonly part: number; readonly places: readonly number[] }

/**
 * An entry is four numbers in the list of its part: its place, its tenant, the first bytes of its term, which tell it from nearly
 * all other terms and sort it among them, and a hash of its token's id, which tells it from nearly all tokens that share the
 * term. Numbers, because this many objects would be promoted and fill the old generation.
 */
const width = 4

/** SQLite takes this limit for none. */
const everything = -1

/**
 * The vault never gets this far. SQLite stores doubles larger than 2^51 as doubles, which cannot be row numbers.
 */
const placeMax = 2 ** 50

/** A number that the driver can return, whatever is stored: it throws on integers too large for a double. */
const readable = (value: string): string => `max(-1, min(${value}, ${2 * placeMax}))`

const progress = `
  SELECT ${readable('up_to')}, ${readable('parts')},
    ${readable('(SELECT min(place) FROM waiting_terms)')}, ${readable('(SELECT max(place) FROM waiting_terms)')}
  FROM waiting_moved WHERE id = 1`

type Progress = readonly [upTo: number, movedParts: number, oldest: number | null, newest: number | null]

/** Whether the vault may have written what storage holds. In tampered storage the row may be missing and the numbers may be any. */
const isSound = (row: unknown): row is Progress => {
  if (row === undefined) return false
  const [upTo, movedParts, , newest] = row as Progress
  return isWithin(upTo, placeMax) && isWithin(movedParts, partCount) && isWithin(newest ?? 0, placeMax)
}

const isWithin = (value: number, max: number): boolean =>
  Number.isInteger(value) && value >= 0 && value <= max

/**
 * The index entries that wait in storage, as one connection remembers them.
 *
 * The place of a fingerprint in the index is random, so each new one would dirty a page of its own. Instead, new entries are
 * appended to `waiting_terms`. Once there are thousands, they are moved into `terms` in the order of their terms, and many of
 * them share a page (waiting-writes.ts). A read first has the entries of its own terms moved (settled-reads.ts).
 *
 * Storage records what waits and what has been moved, in the transaction that does it. So this memory may be lost at any time, it
 * may hold entries that wait no more, and every process can have its own.
 */
export class WaitingEntries {
  readonly #readProgress: StatementSync
  readonly #readNewer: StatementSync
  readonly #parts: number[][] = Array.from({ length: partCount }, () => [])
  #newest = 0
  #oldest = Number.POSITIVE_INFINITY
  #upTo = 0
  #movedParts = partCount
  #isBroken = false

  constructor(database: DatabaseSync) {
    this.#readProgress = database.prepare(progress)
    this.#readNewer = database.prepare(
      `SELECT place, ${readable('tenant')}, hex(term), CAST(token_id AS TEXT) FROM waiting_terms
       WHERE place > ? ORDER BY place ${limited}`,
    )
    for (const statement of [this.#readProgress, this.#readNewer]) statement.setReturnArrays(true)
  }

  /** The highest place ever used. */
  get newest(): number {
    return this.#newest
  }

  /** The lowest place in storage, moved or not. Infinite if there is none. */
  get oldest(): number {
    return this.#oldest
  }

  /** Entries up to this place have been moved or are being moved. */
  get upTo(): number {
    return this.#upTo
  }

  /** How many parts of those entries have been moved. */
  get movedParts(): number {
    return this.#movedParts
  }

  /**
   * Whether storage holds something about waiting entries that the vault never writes. Then no entry waits and none may be added until
   * `mendWaiting` has run: with unreadable places, no token could be created.
   */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /**
   * Reads what has changed and up to this many new entries; returns whether that is all. Every transaction that relies on this memory
   * first reads everything.
   */
  catchUp(entriesMax = everything): boolean {
    const row: unknown = this.#readProgress.get()
    if (!isSound(row)) {
      this.#isBroken = true
      this.#forgetAll()
      return true
    }
    this.#isBroken = false
    const [upTo, movedParts, oldest, newest] = row
    // Places only grow, unless storage was tampered with or repaired.
    if (Math.max(upTo, newest ?? 0) < this.#newest) this.#forgetAll()
    this.#oldest = oldest ?? Number.POSITIVE_INFINITY
    if (upTo !== this.#upTo) this.#forgetRemoved()
    this.#upTo = upTo
    this.#movedParts = movedParts
    let learnt = 0
    if ((newest ?? 0) > this.#newest)
      for (const row of this.#readNewer.all(this.#newest, entriesMax)) {
        const [place, tenant, term, tokenId] = row as unknown as [number, number, string, string]
        // An entry that no longer waits has an empty term and belongs to no part.
        this.#parts[Number.parseInt(term.slice(0, 2), 16)]?.push(
          place,
          tenant,
          startOf(term),
          hashOf(tokenId),
        )
        this.#newest = place
        learnt++
      }
    if (learnt === entriesMax) return false
    this.#newest = Math.max(this.#newest, upTo, newest ?? 0)
    return true
  }

  /** Remembers an entry that this process has just committed, so that it need not be read. */
  remember(place: number, tenant: number, term: Uint8Array, tokenId: string): void {
    this.#parts[term[0] ?? 0]?.push(place, tenant, startOfBytes(term), hashOf(tokenId))
    this.#newest = place
  }

  /** The places of the term's entries. May include entries of another term that starts with the same bytes. */
  ofTerm(tenant: number, term: Uint8Array): PlacesOfPart {
    const [part = 0] = term
    const wanted = startOfBytes(term)
    const places: number[] = []
    this.#forEach(part, (place, ofTenant, start) => {
      if (start === wanted && ofTenant === tenant && this.isWaiting(place, part)) places.push(place)
    })
    return { part, places }
  }

  /** The place of the token's entry of the term. May include places of another token or term, but nearly always is one place or none. */
  ofToken(tenant: number, term: Uint8Array, tokenId: string): number[] {
    const [part = 0] = term
    const wanted = startOfBytes(term)
    const hash = hashOf(tokenId)
    const places: number[] = []
    this.#forEach(part, (place, ofTenant, start, ofToken) => {
      if (ofToken === hash && start === wanted && ofTenant === tenant && this.isWaiting(place, part))
        places.push(place)
    })
    return places
  }

  /** The places of a part's entries, up to a place, in the order of the index. */
  ofPart(part: number, upTo = Number.POSITIVE_INFINITY): PlacesOfPart {
    const entries: [place: number, tenant: number, start: number][] = []
    this.#forEach(part, (place, tenant, start) => {
      if (place <= upTo && this.isWaiting(place, part)) entries.push([place, tenant, start])
    })
    entries.sort((a, b) => a[1] - b[1] || a[2] - b[2])
    return { part, places: entries.map(([place]) => place) }
  }

  /** How many entries of a part are remembered, including recently moved ones. */
  sizeOfPart(part: number): number {
    return (this.#parts[part]?.length ?? 0) / width
  }

  /** Forgets these entries, which no longer wait. */
  forget({ part, places }: PlacesOfPart): void {
    if (places.length === 0) return
    const gone = new Set(places)
    this.#keep(part, place => !gone.has(place))
  }

  /** Whether an entry of this part may still wait at this place, because it was not moved with its part. */
  isWaiting(place: number, part: number): boolean {
    return place > this.#upTo || part >= this.#movedParts
  }

  #forgetAll(): void {
    for (const part of this.#parts.keys()) this.#parts[part] = []
    this.#newest = 0
  }

  #forgetRemoved(): void {
    for (const part of this.#parts.keys()) this.#keep(part, place => place >= this.#oldest)
  }

  #keep(part: number, isKept: (place: number) => boolean): void {
    const kept: number[] = []
    this.#forEach(part, (place, tenant, start, hash) => {
      if (isKept(place)) kept.push(place, tenant, start, hash)
    })
    this.#parts[part] = kept
  }

  #forEach(part: number, visit: (place: number, tenant: number, start: number, hash: number) => void): void {
    const list = this.#parts[part] ?? []
    for (let at = 0; at < list.length; at += width)
      visit(list[at] ?? 0, list[at + 1] ?? 0, list[at + 2] ?? 0, list[at + 3] ?? 0)
  }
}

/** Whether storage holds something about waiting entries that the vault never writes. */
export const isWaitingBroken = (database: DatabaseSync): boolean => {
  const readProgress = database.prepare(progress)
  readProgress.setReturnArrays(true)
  return !isSound(readProgress.get())
}

/** A jump larger than any process can remember, so that every process notices it. */
const leap = 2 ** 40

/**
 * If the vault cannot have written what storage holds about waiting entries, drops them all. Tokens then lack index entries, which a
 * verification adds again. Runs in its caller's transaction.
 */
export const mendWaiting = (database: DatabaseSync): void => {
  if (!isWaitingBroken(database)) return
  const places = database.prepare(`
    SELECT max(place) AS newest FROM (
      SELECT place FROM waiting_terms UNION ALL SELECT up_to FROM waiting_moved WHERE typeof(up_to) = 'integer'
    ) WHERE place BETWEEN 0 AND ${placeMax}`)
  const upTo = (Number(places.get()?.newest ?? 0) + leap) % placeMax
  database.exec('DELETE FROM waiting_terms; DELETE FROM waiting_moved')
  database.prepare('INSERT INTO waiting_moved (id, up_to, parts) VALUES (1, ?, ?)').run(upTo, partCount)
}

const startBytes = 6

const startOf = (term: string): number =>
  Number.parseInt(term.slice(0, 2 * startBytes).padEnd(2 * startBytes, '0'), 16)

/** Compares numbers instead of bytes, because a list of everything asks for the terms of all types. */
export const startOfBytes = (term: Uint8Array): number => {
  let start = 0
  for (let at = 0; at < startBytes; at++) start = start * 256 + (term[at] ?? 0)
  return start
}

const hashOf = (tokenId: string): number => {
  let hash = 0
  for (let at = 0; at < tokenId.length; at++) hash = (Math.imul(hash, 31) + tokenId.charCodeAt(at)) | 0
  return hash
}
