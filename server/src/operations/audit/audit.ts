import type { IndexEntry, MatchRow } from '../../store/rows.ts'

/** Where storage differs from what the opened tokens say. */
export type Audit = {
  /** Tokens whose rows do not open. */
  readonly unreadable: string[]
  readonly deadFields: DeadField[]
  readonly missing: MissingEntry[]
  readonly extra: ExtraEntry[]
  /** Claims on a match by tokens that do not have it. */
  readonly matches: MatchRow[]
  readonly counters: WrongCounter[]
  /** The tenant was written to meanwhile, so its counters could not be judged. */
  readonly wasWritten: boolean
}

/** A transient field that does not open, of a token that does. No answer can show that token. */
export type DeadField = { readonly tokenId: string; readonly field: string; readonly sealed: Uint8Array }

/** An index entry that its token lacks, as of the row that holds these sealed bytes. */
export type MissingEntry = IndexEntry & { readonly sealed: Uint8Array }

/** An index entry that its token should not have; `sealed` is null if there is no such token. */
export type ExtraEntry = IndexEntry & { readonly sealed: Uint8Array | null }

export type WrongCounter = { readonly name: string; readonly stored: number; readonly counted: number }
