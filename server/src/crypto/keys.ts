import type { KeyObject } from 'node:crypto'

// The keys that everything here works with, unwrapped: they live in memory only. The folder keys/ makes them and knows their life.

/** Keys of the vault itself: one hashes API keys, the other seals the rows that grant access. */
export type VaultKeys = { readonly apiKeys: KeyObject; readonly grants: KeyObject }

/** Keys of one tenant. */
export type TenantKeys = {
  readonly tenantId: string
  /** Seals rows. New rows use the current version, old rows open with the version that sealed them. */
  readonly data: ReadonlyMap<number, KeyObject>
  readonly currentDataVersion: number
  /** Hashes the terms that tokens are found by. */
  readonly index: KeyObject
  /** Never rotated: a fingerprint is for ever (C14). */
  readonly fingerprint: KeyObject
}
