import type { KeyRow } from '../rows.ts'
import type { SchemaState } from './migration.ts'

/** What storage holds before anything is done with it. */
export type Inspection = {
  readonly schema: SchemaState
  /** They show whether a master key belongs to this vault. Empty for a vault that was never opened. */
  readonly vaultKeys: readonly KeyRow[]
}

/** There is a vault, but part of it is missing. The message says what it lacks, and what to do. */
export class IncompleteVaultError extends Error {
  readonly remedy: 'restore' | 'copy again'

  constructor(message: string, remedy: IncompleteVaultError['remedy']) {
    super(message)
    this.remedy = remedy
  }
}

/** Reads whatever the table holds: a malformed key must not open, but must not make the look fail either. */
export const seenKeys = (rows: readonly Readonly<Record<string, unknown>>[]): KeyRow[] =>
  rows.map(({ purpose, version, wrapped }) => ({
    purpose: String(purpose),
    version: Number(version),
    wrapped: wrapped instanceof Uint8Array ? wrapped : new Uint8Array(),
  }))
