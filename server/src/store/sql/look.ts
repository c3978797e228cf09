import type { KeyRow } from '../rows.ts'
import type { SchemaState } from './migration.ts'

/** What there is before anything is done with storage. */
export type Look = {
  readonly schema: SchemaState
  /** Those that tell whether a master key belongs to this vault; none in a vault that was never opened. */
  readonly vaultKeys: readonly KeyRow[]
  /** There are tables, and they are not a vault's. */
  readonly isForeign: boolean
}

/** There is a vault, but not the whole of one; the message says what it lacks, and what to do. */
export class IncompleteVaultError extends Error {
  readonly remedy: 'restore' | 'copy again'

  constructor(message: string, remedy: IncompleteVaultError['remedy']) {
    super(message)
    this.remedy = remedy
  }
}

/** Whatever lies there: a key that is none must not open, but may not stop the look either. */
export const seenKeys = (rows: readonly Readonly<Record<string, unknown>>[]): KeyRow[] =>
  rows.map(({ purpose, version, wrapped }) => ({
    purpose: String(purpose),
    version: Number(version),
    wrapped: wrapped instanceof Uint8Array ? wrapped : new Uint8Array(),
  }))
