import type { ColumnLookup } from '../domain/search/query.ts'
import type { PendingDeadlines } from '../domain/time/deadlines.ts'
import type { InstantRange } from '../domain/time/instant.ts'
import type { ListPosition } from '../domain/tokens/list-position.ts'
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
export type Store = StandaloneWrites & {
  /** Resolves once the set is durable, or once it is known that a condition failed and nothing was written. */
  commit(set: WriteSet): Promise<Outcome>

  getToken(tenant: number, id: string): Promise<TokenRow | undefined>
  /** Tokens and their transient fields, all of one moment: a change between two reads would mix old and new. */
  getTokens(tenant: number, ids: readonly string[]): Promise<{ rows: TokenRow[]; transients: TransientRow[] }>
  /** Newest first, ties by id. */
  listTokens(query: TokenQuery, page: { offset: number; limit: number }): Promise<TokenRow[]>
  countTokens(query: TokenQuery): Promise<number>
  /** How many tokens have each term, in the order asked; counting stops at `limit`, and expired ones count too. */
  estimateTerms(tenant: number, terms: readonly Uint8Array[], limit: number): Promise<number[]>
  /** The oldest living token that has the term with this tag: the one that deduplication returns. */
  oldestMatch(tenant: number, match: Match, now: number): Promise<TokenRow | undefined>
  /** Which token holds the claim on a match, living or not. */
  matchHolder(tenant: number, match: Match): Promise<string | undefined>
  /** Those that expired longest ago first; without those of deleted tenants, which go with all else of theirs. */
  expiredTokens(now: number, page: { offset: number; limit: number }): Promise<TokenRow[]>

  /**
   * Counters, and beside them, by type, the tokens that have expired but are still counted because they are not
   * purged yet; with `terms`, only those of them that have one of the terms. Both are of one moment: a purge in
   * between would be subtracted twice.
   */
  readCounts(
    tenant: number,
    names: readonly string[],
    now: number,
    terms?: readonly Uint8Array[],
  ): Promise<{ counters: Counter[]; expired: ReadonlyMap<string, number> }>
  readCounters(tenant: number, names: readonly string[]): Promise<Counter[]>
  listCounters(tenant: number): Promise<Counter[]>
  /** When the newest token of all tenants was created, as far as counters tell. */
  newestTokenAt(): Promise<number | undefined>

  /** Scans go through all that a tenant has stored, page by page; `after` is the last row of the page before. */
  scanTokens(tenant: number, after: string | undefined, limit: number): Promise<TokenRow[]>
  scanTerms(tenant: number, after: IndexEntry | undefined, limit: number): Promise<IndexEntry[]>
  scanMatches(tenant: number, after: MatchRow | undefined, limit: number): Promise<MatchRow[]>
  /**
   * Those of the entries that are not stored, or are stored with another expiry, tag or signature. An entry that was
   * stored before there were signatures has none, and counts as stored.
   */
  absentTerms(tenant: number, entries: readonly IndexEntry[]): Promise<IndexEntry[]>

  /** The kept answer for an idempotency key, if it has not run out at `now`. */
  getResult(tenant: number, hash: Uint8Array, now: number): Promise<ResultRow | undefined>
  /** What a background job wrote down for the tenant under this name. */
  getReport(tenant: number, name: string): Promise<Uint8Array | undefined>

  vaultKeys(): Promise<KeyRow[]>
  getTenant(tenant: number): Promise<TenantRow | undefined>
  listTenants(): Promise<TenantRow[]>
  tenantKeys(tenant: number): Promise<KeyRow[]>
  getApplication(tenant: number, id: string): Promise<ApplicationRow | undefined>
  listApplications(tenant: number): Promise<ApplicationRow[]>
  listApiKeys(tenant: number): Promise<UsedApiKeyRow[]>
  /** Living keys only. */
  findApiKey(hash: Uint8Array, now: number): Promise<ApiKeyRow | undefined>
  /**
   * Grows whenever grants or the keys of a tenant may have changed, here or in another process. It is asked before
   * each use of what is cached of them, so it answers at once.
   */
  grantsEpoch(): number

  health(): Promise<void>
  /** The time by the clock of the server that storage is on; undefined where that clock is this machine's. */
  time(): Promise<number | undefined>
  close(): Promise<void>
}

/** Writes beside `commit`: they are no write sets, and share no transaction with any. */
export type StandaloneWrites = {
  /** Deletes up to `limit` transient fields that are due and says how many; no trace stays once `shred` ran. */
  purgeTransients(pending: PendingDeadlines, limit: number): Promise<number>
  /** Deletes up to `limit` kept answers that are due and says how many. */
  purgeResults(pending: PendingDeadlines, limit: number): Promise<number>
  /** Deletes the kept answer for an idempotency key, if it is due. */
  dropResult(tenant: number, hash: Uint8Array, pending: PendingDeadlines): Promise<void>
  /** Deletes up to about `limit` rows of tenants that were deleted and says how many; 0 when none is left. */
  purgeDeadTenants(limit: number): Promise<number>
  /** Leaves no byte of what was deleted in the engine's files, as far as it owns them; throws where it could not. */
  shred(): Promise<void>

  /** Stores the tenant whole and gives it its number. */
  createTenant(tenant: NewTenant): Promise<number>
  /** Stores the vault's own keys unless there are some, and returns those that are stored now. */
  ensureVaultKeys(keys: readonly KeyRow[]): Promise<KeyRow[]>
  /** Remembers when keys were last used; later moments win. */
  noteKeyUse(uses: readonly { hash: Uint8Array; at: number }[]): Promise<void>

  /**
   * Takes the lease, or renews it for its holder; false while somebody else has it. One that has ended at `now` is
   * free. So is one that ends more than twice as far ahead as the one asked for: a clock that is wrong wrote it.
   */
  acquireLease(lease: LeaseRow, now: number): Promise<boolean>
  /** Gives the lease up, if it is this holder's. */
  releaseLease(lease: Omit<LeaseRow, 'until'>): Promise<void>
}

/**
 * Which tokens of the tenant, as far as indexes tell: those that meet the branch, or one of `anyOf`. Expired ones
 * are never among them.
 */
export type TokenQuery = {
  readonly tenant: number
  readonly now: number
  /** Only what comes behind this place; costs the same at any depth. */
  readonly after?: ListPosition
} & (TokenBranch | { readonly anyOf: readonly TokenBranch[] })

/**
 * Conditions that hold together. Every group must be met (AND) by one of its terms (OR). `ids` narrows further;
 * without it there is at least one group. The rarest group comes first: engines start from it.
 */
export type TokenBranch = {
  readonly groups: readonly (readonly Uint8Array[])[]
  readonly ids?: readonly string[]
  /** Terms that the token must not have. */
  readonly without?: readonly Uint8Array[]
  /** Terms that the token must have without a tag: a container that it is in, and not only somewhere below. */
  readonly untagged?: readonly Uint8Array[]
  /** Terms that the token must not have without a tag; with one it may. */
  readonly withoutUntagged?: readonly Uint8Array[]
  readonly withoutIds?: readonly string[]
  readonly createdAt?: InstantRange
  readonly notCreatedAt?: readonly InstantRange[]
  /** Conditions on the row itself, which is read for each token that meets all others. */
  readonly columns?: readonly ColumnCondition[]
}

/** A column that is empty meets no condition, and so meets every negated one. */
export type ColumnCondition = ColumnLookup & { readonly negated: boolean }

/** Other processes of this machine that answer from the same storage, and remember grants as this one does (C27). */
export type Neighbours = {
  /** Resolves once all of them have forgotten what they remember. */
  tellGrantsChanged(): Promise<void>
  onGrantsChanged(listener: () => void): void
}

/** Storage does not answer or cannot write; nothing half-done was left behind. */
export class StoreUnavailableError extends Error {
  /** What is the matter with storage, for the log: constant words, of ours or of the engine's; never the message. */
  readonly outage: string

  constructor(message: string, { cause, outage }: { cause?: unknown; outage?: string } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StoreUnavailableError'
    this.outage =
      outage ?? (cause instanceof StoreUnavailableError ? cause.outage : 'storage does not answer')
  }
}
