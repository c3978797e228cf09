import type {
  ApiKeyRow,
  ApplicationRow,
  Counter,
  KeyRow,
  NewTenant,
  TenantRow,
  TokenRow,
  TransientRow,
} from './rows.ts'
import type { Outcome, WriteSet } from './write-set.ts'

/**
 * Durability, as promises. Storage is untrusted: it gets sealed bytes and keyed hashes, and nothing that it
 * returns is believed before it has been opened. Every engine passes test/store/store-contract.ts.
 */
export type Store = {
  /** Resolves once the set is durable, or once it is known that a condition failed and nothing was written. */
  commit(set: WriteSet): Promise<Outcome>

  getToken(tenant: number, id: string): Promise<TokenRow | undefined>
  getTransients(tenant: number, tokenIds: readonly string[]): Promise<TransientRow[]>
  /** Newest first, ties by id. */
  listTokens(query: TokenQuery, page: { offset: number; limit: number }): Promise<TokenRow[]>
  /** How many tokens the query has, counted on indexes alone. */
  countTokens(query: TokenQuery): Promise<number>
  /** The oldest living token that has the term: the one that deduplication returns. */
  oldestWithTerm(tenant: number, term: Uint8Array, now: number): Promise<TokenRow | undefined>
  /** Which token holds the claim on a match, living or not. */
  matchHolder(tenant: number, match: Uint8Array): Promise<string | undefined>
  /** Tokens that have expired but are not purged yet, by type; they are still in the counters. */
  countExpired(tenant: number, now: number): Promise<ReadonlyMap<string, number>>
  readCounters(tenant: number, names: readonly string[]): Promise<Counter[]>

  /** Those that expired longest ago first. */
  expiredTokens(now: number, page: { offset: number; limit: number }): Promise<TokenRow[]>
  /** Deletes up to `limit` transient fields that are due and says how many; no trace stays once `shred` ran. */
  purgeTransients(now: number, limit: number): Promise<number>
  /** Leaves no byte of what was deleted in the engine's files, as far as it owns them; throws where it could not. */
  shred(): Promise<void>

  /** Stores the tenant whole and gives it its number. */
  createTenant(tenant: NewTenant): Promise<number>
  getTenant(tenant: number): Promise<TenantRow | undefined>
  listTenants(): Promise<TenantRow[]>
  tenantKeys(tenant: number): Promise<KeyRow[]>
  getApplication(tenant: number, id: string): Promise<ApplicationRow | undefined>
  findApiKey(hash: Uint8Array): Promise<ApiKeyRow | undefined>

  vaultKeys(): Promise<KeyRow[]>
  /** Stores the vault's own keys unless there are some, and returns those that are stored now. */
  ensureVaultKeys(keys: readonly KeyRow[]): Promise<KeyRow[]>

  health(): Promise<void>
  close(): Promise<void>
}

/**
 * Every group must be met (AND) by one of its terms (OR). `ids` narrows further; without it there is at least
 * one group. Groups come with the most telling first; the engine starts from it.
 */
export type TokenQuery = {
  readonly tenant: number
  readonly groups: readonly (readonly Uint8Array[])[]
  readonly ids?: readonly string[]
  readonly now: number
}

/** Storage does not answer or cannot write; nothing half-done was left behind. */
export class StoreUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreUnavailableError'
  }
}
