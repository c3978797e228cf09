import type { Check, Remedy } from './finding.ts'

/** What doctor does and says for each kind of storage. */
export type StorageDoctor = {
  /** Check whether this user can reach the files and others cannot. They run before the vault is inspected. */
  readonly accessChecks: readonly Check[]
  /** Check whether there is space for more. */
  readonly roomChecks: readonly Check[]
  /** Explains why the vault could not be inspected. */
  explain(error: unknown): { readonly problem: string; readonly remedy: Remedy }
  /** How to replace the storage with a backup, where these flags name the vault. */
  restore(flags: string): Remedy
  /** How to find the wrong clock. It ends with "if they are right", and the caller completes the sentence. */
  readonly compareClocks: string
}
