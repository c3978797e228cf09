import type {
  ApiKeyRow,
  ApplicationRow,
  Counter,
  IndexEntry,
  KeyRow,
  LeaseRow,
  MatchRow,
  NewTenant,
  ResultRow,
  TenantRow,
  TokenRow,
  TransientRow,
  UsedApiKeyRow,
} from './rows.ts'
import type { Match, Outcome, WriteSet } from './write-set.ts'

/**
 * Durability, as promises. Storage is untrusted: it gets sealed bytes and keyed hashes, and nothing that it
 * returns is believed before it has been opened. Every engine passes test/store/store-contract.ts.
 */
export type Store = {
  /** Resolves once the set is durable, or once it is known that a condition failed and nothing was written. */
  commit(set: WriteSet): Promise<Outcome>

  getToken(tenant: number, id: string): Promise<TokenRow | undefined>
  /** Tokens and their transient fields, all of one moment: a change between two reads would mix old and new. */
  getTokens(tenant: number, ids: readonly string[]): Promise<{ rows: TokenRow[]; transients: TransientRow[] }>
  /** Newest first, ties by id. */
  listTokens(query: TokenQuery, page: { offset: number; limit: number }): Promise<TokenRow[]>
  /** How many tokens the query has, counted on indexes alone. */
  countTokens(query: TokenQuery): Promise<number>
  /** How many tokens have each term, in the order asked; counting stops at `limit`, and expired ones count too. */
  estimateTerms(tenant: number, terms: readonly Uint8Array[], limit: number): Promise<number[]>
  /** The oldest living token that has the term with this tag: the one that deduplication returns. */
  oldestMatch(tenant: number, match: Match, now: number): Promise<TokenRow | undefined>
  /** Which token holds the claim on a match, living or not. */
  matchHolder(tenant: number, match: Match): Promise<string | undefined>
  /**
   * Counters, with the tokens that have expired but are not purged yet, by type, which are still in them; of
   * these only such that have one of the terms, where terms are given. Both are of one moment: a purge between
   * them would be subtracted twice.
   */
  readCounts(
    tenant: number,
    names: readonly string[],
    now: number,
    terms?: readonly Uint8Array[],
  ): Promise<{ counters: Counter[]; expired: ReadonlyMap<string, number> }>
  /** When the newest token of all tenants was created, as far as kept counters tell. */
  newestTokenAt(): Promise<number | undefined>
  readCounters(tenant: number, names: readonly string[]): Promise<Counter[]>

  /** For looking through everything that is stored, page by page, each behind the last of the one before. */
  listCounters(tenant: number): Promise<Counter[]>
  /** By id, also those that have expired. */
  scanTokens(tenant: number, after: string | undefined, limit: number): Promise<TokenRow[]>
  /** In any order that stays the same. */
  scanTerms(tenant: number, after: IndexEntry | undefined, limit: number): Promise<IndexEntry[]>
  scanMatches(tenant: number, after: MatchRow | undefined, limit: number): Promise<MatchRow[]>
  /** Those of the entries that are not stored, or with another expiry, tag or signature; one without is as good. */
  absentTerms(tenant: number, entries: readonly IndexEntry[]): Promise<IndexEntry[]>

  /** Those that expired longest ago first. */
  expiredTokens(now: number, page: { offset: number; limit: number }): Promise<TokenRow[]>
  /** Deletes up to `limit` transient fields that are due and says how many; no trace stays once `shred` ran. */
  purgeTransients(now: number, limit: number): Promise<number>
  /** Leaves no byte of what was deleted in the engine's files, as far as it owns them; throws where it could not. */
  shred(): Promise<void>

  /** The kept answer for an idempotency key, if it is not over at `now`. */
  getResult(tenant: number, hash: Uint8Array, now: number): Promise<ResultRow | undefined>
  /** Deletes up to `limit` kept answers that are over and says how many. */
  purgeResults(now: number, limit: number): Promise<number>
  /** What a background job wrote down for the tenant under this name. */
  getReport(tenant: number, name: string): Promise<Uint8Array | undefined>
  /** Deletes up to about `limit` rows of tenants that were deleted and says how many; 0 when none is left. */
  purgeDeadTenants(limit: number): Promise<number>

  /** Stores the tenant whole and gives it its number. */
  createTenant(tenant: NewTenant): Promise<number>
  getTenant(tenant: number): Promise<TenantRow | undefined>
  listTenants(): Promise<TenantRow[]>
  tenantKeys(tenant: number): Promise<KeyRow[]>
  getApplication(tenant: number, id: string): Promise<ApplicationRow | undefined>
  listApplications(tenant: number): Promise<ApplicationRow[]>
  listApiKeys(tenant: number): Promise<UsedApiKeyRow[]>
  /** Remembers when keys were last used; later moments win. */
  noteKeyUse(uses: readonly { hash: Uint8Array; at: number }[]): Promise<void>
  /**
   * Grows when grants or the keys of a tenant may have changed, here or in another process; asked before each use
   * of what is cached of them.
   */
  grantsEpoch(): number
  /** Living keys only. */
  findApiKey(hash: Uint8Array, now: number): Promise<ApiKeyRow | undefined>

  vaultKeys(): Promise<KeyRow[]>
  /** Stores the vault's own keys unless there are some, and returns those that are stored now. */
  ensureVaultKeys(keys: readonly KeyRow[]): Promise<KeyRow[]>

  /**
   * Takes the lease, or renews it for its holder; false while it is another's. One that is over at `now` is free,
   * and so is one that ends later than twice the time asked for from `now`: it was written by a clock that is wrong.
   */
  acquireLease(lease: LeaseRow, now: number): Promise<boolean>
  /** Gives the lease up, if it is this holder's. */
  releaseLease(lease: Omit<LeaseRow, 'until'>): Promise<void>

  health(): Promise<void>
  close(): Promise<void>
}

/**
 * Which tokens of the tenant, as far as indexes tell: those that hold to the branch, or to one of `anyOf`.
 * Expired ones are never among them.
 */
export type TokenQuery = {
  readonly tenant: number
  readonly now: number
  /** Only what comes behind this place; costs the same at any depth. */
  readonly after?: ListPosition
} & (TokenBranch | { readonly anyOf: readonly TokenBranch[] })

/**
 * Conditions that hold together. Every group must be met (AND) by one of its terms (OR). `ids` narrows further;
 * without it there is at least one group. Groups come with the most telling first; the engine starts from it.
 */
export type TokenBranch = {
  readonly groups: readonly (readonly Uint8Array[])[]
  readonly ids?: readonly string[]
  /** Terms that the token must not have. */
  readonly without?: readonly Uint8Array[]
  /** Terms that it must have with no tag, and terms that it must not have so. */
  readonly untagged?: readonly Uint8Array[]
  readonly withoutUntagged?: readonly Uint8Array[]
  readonly withoutIds?: readonly string[]
  readonly createdAt?: TimeSpan
  readonly notCreatedAt?: readonly TimeSpan[]
  /** What only the token's own row tells: a look at it for each token that all else leaves. */
  readonly columns?: readonly ColumnCondition[]
}

/** A column that is empty meets no condition, and so every negated one. */
export type ColumnCondition = { readonly negated: boolean } & (
  | { readonly column: 'createdBy' | 'modifiedBy'; readonly is: string }
  | { readonly column: 'modifiedAt'; readonly within: TimeSpan }
)

/** From `from` on and before `until`; an end that is absent is open. */
export type TimeSpan = { readonly from?: number; readonly until?: number }

/** The place of a token in a list. */
export type ListPosition = { readonly createdAt: number; readonly id: string }

/** Storage does not answer or cannot write; nothing half-done was left behind. */
export class StoreUnavailableError extends Error {
  /** What is the matter with storage, for the log: constant words, of ours or of the engine's. */
  readonly outage: string

  constructor(message: string, { cause, outage }: { cause?: unknown; outage?: string } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StoreUnavailableError'
    this.outage = outage ?? (cause instanceof StoreUnavailableError ? cause.outage : message)
  }
}
