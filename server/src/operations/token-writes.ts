import { fingerprintHash, indexHash } from '../crypto/index-hash.ts'
import type { TenantKeys } from '../crypto/keys.ts'
import { contentTerms, matchTag, type Term } from '../domain/index-terms.ts'
import type { Token } from '../domain/token.ts'
import { CounterSums } from '../store/counter-sums.ts'
import type { IndexedToken, IndexTerm } from '../store/rows.ts'
import { signatureOf } from '../store/term-signature.ts'
import type { CounterMove, Effect, GuardedChange, Match, WriteSet } from '../store/write-set.ts'
import { activeCounter, sealsCounter } from './counters.ts'
import { type Place, placeOf } from './token-places.ts'
import { toTokenRow, toTransientRow } from './token-rows.ts'

export const hashTerm = ({ keys }: Pick<Writer, 'keys'>, { field, value }: Term): Buffer =>
  indexHash(keys, field, value)

/** Everything that the token is found by, without repetition. */
export const tokenTerms = (
  writer: Pick<Writer, 'keys'>,
  token: Token,
  place = placeOf(writer.keys, token),
): IndexTerm[] => {
  const terms = [...place.terms]
  for (const term of contentTerms(token)) terms.push({ term: hashTerm(writer, term), tag: null })
  if (token.fingerprint !== undefined)
    terms.push(fingerprintHash(writer.keys, token.fingerprint, matchTag(token)))
  return terms
}

/** What deduplication meets on; undefined for a token that takes no part in it. */
export const matchOf = ({ keys }: Pick<Writer, 'keys'>, token: Token): Match | undefined => {
  const tagText = matchTag(token)
  if (token.fingerprint === undefined || tagText === undefined) return undefined
  const { term, tag } = fingerprintHash(keys, token.fingerprint, tagText)
  return tag === null ? undefined : { term, tag }
}

export const sameMatch = (a: Match | undefined, b: Match | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  Buffer.compare(a.term, b.term) === 0 &&
  Buffer.compare(a.tag, b.tag) === 0

/** Who writes: an operation for its caller, or the sweeper on behalf of a tenant. */
export type Writer = { readonly tenantNumber: number; readonly keys: TenantKeys }

/** Collects the changes of one operation into one write set; the index and the counters follow from the tokens. */
export class TokenWrites {
  readonly #writer: Writer
  readonly #guarded: GuardedChange[] = []
  readonly #entries: Effect[] = []
  readonly #effects: Effect[] = []
  readonly #counters = new CounterSums()

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /**
   * Entries of new tokens come last one first: of one moment the index has later ids before earlier ones, and what is put
   * in front of the entry of before leaves pages half empty.
   */
  get set(): WriteSet {
    return {
      tenant: this.#writer.tenantNumber,
      guarded: this.#guarded,
      effects: [...this.#entries.toReversed(), ...this.#effects],
      counters: this.#counters.of(this.#writer.tenantNumber),
    }
  }

  insert(token: Token): void {
    const { tenantNumber, keys } = this.#writer
    this.#guarded.push({ kind: 'insertToken', row: toTokenRow(token, tenantNumber, keys) })
    const place = placeOf(keys, token)
    const terms = tokenTerms(this.#writer, token, place)
    this.#entries.push({ kind: 'addTerms', of: indexed(token, terms), terms })
    this.#putTransients(token, [])
    this.#count(place, 1)
    this.#move({ name: place.typeCounter, by: 1, at: token.createdAt })
    this.#move({ name: activeCounter(token.activeMonth), by: 1 })
    this.#countSeals(1)
  }

  update(before: Token, after: Token): void {
    const { tenantNumber, keys } = this.#writer
    this.#guarded.push({
      kind: 'updateToken',
      row: toTokenRow(after, tenantNumber, keys),
      ifVersion: before.version,
    })
    this.#moveTerms(before, after)
    this.#putTransients(after, before.transients)
    if (!sameList(before.containers, after.containers)) {
      this.#count(placeOf(keys, before), -1)
      this.#count(placeOf(keys, after), 1)
    }
    this.#countSeals(1)
  }

  remove(token: Token): void {
    this.#guarded.push({ kind: 'deleteToken', id: token.id, ifVersion: token.version })
    const place = placeOf(this.#writer.keys, token)
    const terms = tokenTerms(this.#writer, token, place)
    this.#effects.push({ kind: 'removeTerms', of: indexed(token, terms), terms })
    this.#release(token)
    this.#count(place, -1)
    this.#move({ name: place.typeCounter, by: -1 })
  }

  /** Claims the match that the token stands for, from nobody or from a token that no longer does. */
  claimMatch(match: Match, token: Token, insteadOf: string | undefined): void {
    this.#guarded.push({ kind: 'claimMatch', match, tokenId: token.id, insteadOf: insteadOf ?? null })
  }

  #moveTerms(before: Token, after: Token): void {
    const old = tokenTerms(this.#writer, before)
    const next = tokenTerms(this.#writer, after)
    const [was, is] = [indexed(before, old), indexed(after, next)]
    // Each entry carries expiry and signature: where one of them moved, all entries are written again.
    const allMoved = was.expiresAt !== is.expiresAt || was.signature !== is.signature
    const added = allMoved ? next : without(next, old, taggedName)
    const removed = without(old, next, termName)
    if (removed.length > 0) this.#effects.push({ kind: 'removeTerms', of: was, terms: removed })
    if (added.length > 0) this.#effects.push({ kind: 'addTerms', of: is, terms: added })
    if (!sameMatch(matchOf(this.#writer, before), matchOf(this.#writer, after))) this.#release(before)
  }

  #release(token: Token): void {
    const match = matchOf(this.#writer, token)
    if (match !== undefined) this.#effects.push({ kind: 'releaseMatch', match, tokenId: token.id })
  }

  #putTransients(token: Token, before: readonly Token['transients'][number][]): void {
    const { tenantNumber, keys } = this.#writer
    for (const transient of token.transients) {
      if (before.includes(transient)) continue
      this.#effects.push({ kind: 'putTransient', row: toTransientRow(token, transient, tenantNumber, keys) })
      this.#countSeals(1)
    }
    for (const { field } of before)
      if (!token.transients.some(transient => transient.field === field))
        this.#effects.push({ kind: 'dropTransient', tokenId: token.id, field })
  }

  #count({ counters }: Place, by: 1 | -1): void {
    for (const name of counters) this.#move({ name, by })
  }

  #move(move: CounterMove): void {
    this.#counters.add(this.#writer.tenantNumber, move)
  }

  #countSeals(by: number): void {
    this.#move({ name: sealsCounter(this.#writer.keys.currentDataVersion), by })
  }
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index])

/** What each of its entries carries, given all of them. */
export const indexed = ({ id, createdAt, expiry }: Token, terms: readonly IndexTerm[]): IndexedToken => ({
  tokenId: id,
  createdAt,
  expiresAt: expiry?.at ?? null,
  signature: signatureOf(terms.map(({ term }) => term)),
})

const without = (
  terms: readonly IndexTerm[],
  others: readonly IndexTerm[],
  nameOf: (term: IndexTerm) => string,
): IndexTerm[] => {
  const known = new Set(others.map(nameOf))
  return terms.filter(term => !known.has(nameOf(term)))
}

const termName = ({ term }: IndexTerm): string => Buffer.from(term).toString('base64')
const taggedName = (entry: IndexTerm): string =>
  `${termName(entry)}:${entry.tag === null ? '' : Buffer.from(entry.tag).toString('base64')}`
