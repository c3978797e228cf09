import type { KeyObject } from 'node:crypto'

// The keys that everything here works with, unwrapped: they live in memory only. The folder keys/ makes them and knows their life.

/** Keys of the vault itself. */
export type VaultKeys = {
  /** Hashes API keys. */
  readonly apiKeys: KeyObject
  /** Seals the rows that grant access. */
  readonly grants: KeyObject
  /** The keys that seal logs are derived from it. */
  readonly log: KeyObject
  /** The seed of the key that signs the log's checkpoints. */
  readonly checkpoints: KeyObject
}

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
