import type { IndexEntry, MatchRow } from '../../store/rows.ts'

/** Where storage differs from the opened tokens, as far as one page of it shows. */
export type Differences = {
  /** Tokens whose rows do not open. */
  readonly unreadable?: readonly string[]
  readonly deadFields?: readonly DeadField[]
  readonly missing?: readonly MissingEntry[]
  readonly extra?: readonly ExtraEntry[]
  /** Claims on a match by tokens that do not have it. */
  readonly matches?: readonly MatchRow[]
  readonly counters?: readonly WrongCounter[]
}

/** Gets differences as they are found, because a badly damaged vault has more than fit in memory. */
export type Tell = (found: Differences) => Promise<void>

/** A transient field that does not open, of a token that does. No answer can show that token. */
export type DeadField = { readonly tokenId: string; readonly field: string; readonly sealed: Uint8Array }

/** An index entry that its token lacks, as of the row that holds these sealed bytes. */
export type MissingEntry = IndexEntry & { readonly sealed: Uint8Array }

/** An index entry that its token should not have; `sealed` is null if there is no such token. */
export type ExtraEntry = IndexEntry & { readonly sealed: Uint8Array | null }

export type WrongCounter = { readonly name: string; readonly stored: number; readonly counted: number }

const tokensMax = 10_000

/** The tokens with a fault, up to a number worth counting. */
export class AffectedTokens {
  readonly #ids = new Set<string>()
  #areMore = false

  get ids(): string[] {
    return [...this.#ids]
  }

  get isEmpty(): boolean {
    return this.#ids.size === 0
  }

  /** Whether there are others, which were not remembered. */
  get areMore(): boolean {
    return this.#areMore
  }

  add(id: string): void {
    if (this.#ids.size < tokensMax) this.#ids.add(id)
    else this.#areMore ||= !this.#ids.has(id)
  }

  /** Those that the other, later one does not have. */
  without(other: AffectedTokens): AffectedTokens {
    const left = new AffectedTokens()
    for (const id of this.#ids) if (!other.#ids.has(id)) left.add(id)
    left.#areMore = this.#areMore
    return left
  }
}

const kinds = ['deadFields', 'missing', 'extra', 'matches'] as const

/** All differences of a tenant, in the form of a report. */
export class Verification {
  readonly unreadable = new AffectedTokens()
  readonly deadFields = new AffectedTokens()
  readonly missing = new AffectedTokens()
  readonly extra = new AffectedTokens()
  readonly matches = new AffectedTokens()
  wrongCounters = 0
  /** How many tokens are sealed with a data key older than the last rekey. */
  notRekeyed = 0
  /** Somebody wrote to the tenant during the verification, so its counters could not be judged. */
  wasWritten = false

  note(found: Differences): void {
    for (const id of found.unreadable ?? []) this.unreadable.add(id)
    for (const kind of kinds) for (const { tokenId } of found[kind] ?? []) this[kind].add(tokenId)
    this.wrongCounters += found.counters?.length ?? 0
  }
}
