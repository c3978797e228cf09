import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { Memo } from '../../../domain/memo.ts'
import { batchWeight } from '../../commit-queue.ts'
import type { IndexedToken, IndexTerm } from '../../rows.ts'
import {
  type PlacesOfPart,
  partCount,
  startOfBytes,
  type TenantTerms,
  WaitingEntries,
} from '../waiting-entries.ts'

/** How many entries collect before they are moved. In a vault of a million tokens, two of them then share a page of the index. */
export const waitingDefault = 32_768

/** How many entries, at least, are moved or then removed for each one that is added: parts are moved whole. */
const movesPerAdded = 2
/** As many as belong to a whole batch. A larger set would take twice as long, and all others would wait. */
const movesMax = movesPerAdded * batchWeight

/** Most parts hold a hundred entries. One with this many has terms that many tokens share, which are better added at once. */
const partMax = 1_000

/** How many terms that were asked for are remembered. */
const askedMax = 1_000

/** How many terms are remembered of those that had entries lately. */
const recentTerms = 4_096

/** How many entries are moved in one transaction when nothing is added. */
const movedAtOnce = 1_000

/** Holds index entries of new tokens back and moves them into the index later (waiting-entries.ts), in its caller's transactions. */
export class WaitingWrites {
  readonly #entries: WaitingEntries
  readonly #waitingMax: number
  readonly #append: StatementSync
  readonly #move: StatementSync
  readonly #empty: StatementSync
  readonly #emptyOne: StatementSync
  readonly #record: StatementSync
  readonly #remove: StatementSync
  readonly #addedTo = new Uint16Array(partCount)
  /** Terms that a read has asked for. Their new entries do not wait: the read looks again, and would otherwise never end. */
  readonly #asked = new Memo<true>(askedMax)
  /** The first bytes of recent terms, at a position that later bytes of the term give, and the places of their first entries. */
  readonly #recent = new Float64Array(recentTerms)
  readonly #firstPlaces = new Float64Array(recentTerms)
  #added: { readonly tenant: number; readonly term: Uint8Array; readonly tokenId: string }[] = []

  constructor(database: DatabaseSync, waitingMax: number) {
    this.#entries = new WaitingEntries(database)
    this.#waitingMax = waitingMax
    this.#append = database.prepare(
      `INSERT INTO waiting_terms (place, tenant, term, created_at, token_id, expires_at, tag, signature)
       VALUES (?,?,?,?,?,?,?,?)`,
    )
    // CROSS JOIN keeps the order of the list. Since then the tenant may have been deleted, or a change of the token may have added
    // the entry to the index.
    this.#move = database.prepare(
      `INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
       SELECT w.tenant, w.term, w.created_at, w.token_id, w.expires_at, w.tag, w.signature
       FROM json_each(?) listed CROSS JOIN waiting_terms w ON w.place = listed.value
       WHERE w.term <> x'' AND EXISTS (SELECT 1 FROM tenants t WHERE t.tenant = w.tenant)
       ON CONFLICT DO NOTHING`,
    )
    this.#empty = database.prepare(
      "UPDATE waiting_terms SET term = x'' WHERE place IN (SELECT value FROM json_each(?))",
    )
    this.#emptyOne = database.prepare(
      "UPDATE waiting_terms SET term = x'' WHERE place = ? AND term = ? AND created_at = ? AND token_id = ?",
    )
    this.#record = database.prepare('UPDATE waiting_moved SET up_to = ?, parts = ? WHERE id = 1')
    this.#remove = database.prepare('DELETE FROM waiting_terms WHERE place <= ?')
  }

  /** Called first in each transaction. */
  begin(): void {
    this.#entries.catchUp()
    this.#added = []
    this.#addedTo.fill(0)
  }

  /** Appends an entry of a new token. False if it should be added to the index at once instead. */
  add(tenant: number, of: IndexedToken, { term, tag }: IndexTerm): boolean {
    if (this.#entries.isBroken) return false
    const part = term[0] ?? 0
    const slot = ((term[6] ?? 0) * 256 + (term[7] ?? 0)) % recentTerms
    if (this.#recent[slot] === startOfBytes(term)) {
      this.#moveFirst(slot, part)
      return false
    }
    const added = this.#addedTo[part] ?? 0
    if (this.#entries.sizeOfPart(part) + added >= partMax || this.#isAsked(term)) return false
    this.#addedTo[part] = added + 1
    const place = this.#entries.newest + this.#added.push({ tenant, term, tokenId: of.tokenId })
    this.#recent[slot] = startOfBytes(term)
    this.#firstPlaces[slot] = place
    this.#append.run(place, tenant, term, of.createdAt, of.tokenId, of.expiresAt, tag, of.signature)
    return true
  }

  /** Removes waiting entries that the token no longer has. */
  takeOut(tenant: number, { tokenId, createdAt }: IndexedToken, { term }: IndexTerm): void {
    for (const place of this.#entries.ofToken(tenant, term, tokenId))
      this.#emptyOne.run(place, term, createdAt, tokenId)
  }

  /** Called last in each transaction. Moves entries at the rate at which new ones come, so that no commit takes much longer. */
  moveSome(): void {
    const { newest, oldest, upTo, movedParts } = this.#entries
    const count = Math.min(movesPerAdded * this.#added.length, movesMax)
    if (count === 0) return
    if (movedParts < partCount) this.#moveParts(count)
    else if (oldest <= upTo) this.#remove.run(Math.min(oldest + count, upTo))
    else if (newest - upTo >= this.#waitingMax) this.#record.run(newest, 0)
  }

  /** Called after the commit: no other writer can have taken the places that it added. */
  committed(): void {
    const { newest } = this.#entries
    this.#added.forEach(({ tenant, term, tokenId }, index) => {
      this.#entries.remember(newest + index + 1, tenant, term, tokenId)
    })
    this.#added = []
  }

  /** Moves the waiting entries of these terms and returns them. */
  settle({ tenant, terms }: TenantTerms): PlacesOfPart[] {
    for (const term of terms) this.#asked.set(nameOf(term), true)
    return this.#moveAndEmpty(terms.map(term => this.#entries.ofTerm(tenant, term)))
  }

  /** Moves some of the waiting entries and returns them. */
  settleSome(): PlacesOfPart[] {
    const parts: PlacesOfPart[] = []
    let count = 0
    for (let part = 0; part < partCount && count < movedAtOnce; part++) {
      const waiting = this.#entries.ofPart(part)
      parts.push(waiting)
      count += waiting.places.length
    }
    return this.#moveAndEmpty(parts)
  }

  /** Called after the transaction that moved them has been committed. */
  forget(moved: readonly PlacesOfPart[]): void {
    for (const part of moved) this.#entries.forget(part)
  }

  /**
   * Many tokens share the term, so a new entry goes right next to the last one, and its place in the index is not random. This also
   * moves the first entry, which was added before that was known: reads of such terms are frequent and should not have to move it.
   */
  #moveFirst(slot: number, part: number): void {
    const place = this.#firstPlaces[slot] ?? 0
    this.#firstPlaces[slot] = 0
    if (place > 0 && this.#entries.isWaiting(place, part)) this.#moveAndEmpty([{ part, places: [place] }])
  }

  #isAsked(term: Uint8Array): boolean {
    return this.#asked.size > 0 && this.#asked.get(nameOf(term)) !== undefined
  }

  #moveAndEmpty(parts: PlacesOfPart[]): PlacesOfPart[] {
    const places = parts.flatMap(part => part.places)
    if (places.length > 0) {
      this.#move.run(JSON.stringify(places))
      this.#empty.run(JSON.stringify(places))
    }
    return parts
  }

  #moveParts(count: number): void {
    let part = this.#entries.movedParts
    for (let left = count; left > 0 && part < partCount; part++) {
      const { places } = this.#entries.ofPart(part, this.#entries.upTo)
      if (places.length > 0) this.#move.run(JSON.stringify(places))
      left -= places.length
    }
    this.#record.run(this.#entries.upTo, part)
  }
}

/** Without the tenant: terms are hashes under its own key. */
const nameOf = (term: Uint8Array): string => Buffer.from(term).toString('latin1')
