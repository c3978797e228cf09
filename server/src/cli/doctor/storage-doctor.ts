import type { Check, Remedy } from './finding.ts'

/** What doctor does and says differently for each kind of storage. */
export type StorageDoctor = {
  /** Whether this user can reach what is there, and others cannot. They come before a look at the vault. */
  readonly accessChecks: readonly Check[]
  /** Whether there is room for more. */
  readonly roomChecks: readonly Check[]
  /** Why the vault could not be looked at. */
  explain(error: unknown): { readonly problem: string; readonly remedy: Remedy }
  /** How to put a backup in the place of what is there. */
  restore(): Remedy
  /** How to find the clock that is wrong. It ends with "if they are right", and the caller goes on from there. */
  readonly compareClocks: string
}
