import { indexHash } from '../crypto/index-hash.ts'
import type { TenantKeys } from '../crypto/keys.ts'
import { ancestors } from '../domain/containers.ts'
import { containerTerm, indexTerms, matchTerm, type Term } from '../domain/index-terms.ts'
import type { Token } from '../domain/token.ts'
import type { TermRow } from '../store/rows.ts'
import type { CounterMove, Effect, GuardedChange, WriteSet } from '../store/write-set.ts'
import {
  activeCounter,
  containerCounter,
  sealsCounter,
  severalContainersCounter,
  typeCounter,
} from './counters.ts'
import { toTokenRow, toTransientRow } from './token-rows.ts'

export const hashTerm = ({ keys }: Pick<Writer, 'keys'>, { field, value }: Term): Buffer =>
  indexHash(keys, field, value)

/** What deduplication meets on; undefined for a token that takes no part in it. */
export const matchHash = (writer: Pick<Writer, 'keys'>, token: Token): Buffer | undefined => {
  const term = matchTerm(token)
  return term && hashTerm(writer, term)
}

/** Who writes: an operation for its caller, or the sweeper on behalf of a tenant. */
export type Writer = { readonly tenantNumber: number; readonly keys: TenantKeys }

/** Collects the changes of one operation into one write set; the index and the counters follow from the tokens. */
export class TokenWrites {
  readonly #writer: Writer
  readonly #guarded: GuardedChange[] = []
  readonly #effects: Effect[] = []
  readonly #counters: CounterMove[] = []

  constructor(writer: Writer) {
    this.#writer = writer
  }

  get set(): WriteSet {
    return {
      tenant: this.#writer.tenantNumber,
      guarded: this.#guarded,
      effects: this.#effects,
      counters: this.#counters,
    }
  }

  insert(token: Token): void {
    const { tenantNumber, keys } = this.#writer
    this.#guarded.push({ kind: 'insertToken', row: toTokenRow(token, tenantNumber, keys) })
    this.#effects.push({ kind: 'addTerms', rows: this.#termRows(token) })
    this.#putTransients(token, [])
    this.#count(token, 1)
    this.#counters.push({ name: typeCounter(token.type.name), by: 1, at: token.createdAt })
    this.#counters.push({ name: activeCounter(token.activeMonth), by: 1 })
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
      this.#count(before, -1)
      this.#count(after, 1)
    }
    this.#countSeals(1)
  }

  remove(token: Token): void {
    this.#guarded.push({ kind: 'deleteToken', id: token.id, ifVersion: token.version })
    this.#effects.push({ kind: 'removeTerms', rows: this.#termRows(token) })
    this.#release(token)
    this.#count(token, -1)
    this.#counters.push({ name: typeCounter(token.type.name), by: -1 })
  }

  /** Claims the match that the token stands for, from nobody or from a token that no longer does. */
  claimMatch(match: Uint8Array, token: Token, insteadOf: string | undefined): void {
    this.#guarded.push({ kind: 'claimMatch', match, tokenId: token.id, insteadOf: insteadOf ?? null })
  }

  #moveTerms(before: Token, after: Token): void {
    const old = this.#termRows(before)
    const next = this.#termRows(after)
    // Each entry carries the expiry, so a new expiry writes all of them again.
    const expiryMoved = before.expiry?.at !== after.expiry?.at
    const added = expiryMoved ? next : without(next, old)
    const removed = without(old, next)
    if (removed.length > 0) this.#effects.push({ kind: 'removeTerms', rows: removed })
    if (added.length > 0) this.#effects.push({ kind: 'addTerms', rows: added })
    const oldMatch = matchHash(this.#writer, before)
    const newMatch = matchHash(this.#writer, after)
    if (oldMatch !== undefined && (newMatch === undefined || !oldMatch.equals(newMatch)))
      this.#release(before)
  }

  #release(token: Token): void {
    const match = matchHash(this.#writer, token)
    if (match !== undefined) this.#effects.push({ kind: 'releaseMatch', match, tokenId: token.id })
  }

  #termRows(token: Token): TermRow[] {
    return indexTerms(token).map(term => ({
      tenant: this.#writer.tenantNumber,
      term: hashTerm(this.#writer, term),
      createdAt: token.createdAt,
      tokenId: token.id,
      expiresAt: token.expiry?.at ?? null,
    }))
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

  #count(token: Token, by: 1 | -1): void {
    const containers = new Set(token.containers.flatMap(ancestors).filter(container => container !== '/'))
    for (const container of containers)
      this.#counters.push({ name: containerCounter(hashTerm(this.#writer, containerTerm(container))), by })
    if (token.containers.length > 1) this.#counters.push({ name: severalContainersCounter, by })
  }

  #countSeals(by: number): void {
    this.#counters.push({ name: sealsCounter(this.#writer.keys.currentDataVersion), by })
  }
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index])

const without = (rows: readonly TermRow[], others: readonly TermRow[]): TermRow[] => {
  const known = new Set(others.map(({ term }) => Buffer.from(term).toString('base64')))
  return rows.filter(({ term }) => !known.has(Buffer.from(term).toString('base64')))
}
