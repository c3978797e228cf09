import type { ColumnLookup } from '../domain/search/query.ts'
import type { InstantRange, PendingDeadlines } from '../domain/time/instant.ts'
import type { ListPosition } from '../domain/tokens/list-position.ts'
import type {
  ApiKeyRow,
  ApplicationRow,
  Counter,
  DeliveryRow,
  IndexEntry,
  KeyRow,
  LeaseRow,
  LogBlockRow,
  LogCheckpointRow,
  LogHead,
  LogLeafRow,
  LogOwnerRow,
  LogTreeRow,
  MatchRow,
  NewTenant,
  ResourceKind,
  ResourceRow,
  ResultRow,
  TenantRow,
  TokenRow,
  TransientRow,
  UsedApiKeyRow,
} from './rows.ts'
import type { LogPart, Match, Outcome, WriteSet } from './write-set.ts'

/**
 * The durability that every engine promises. Storage is untrusted: it gets sealed bytes and keyed hashes, and nothing
 * it returns is believed before it has been opened. Every engine passes test/store/store-contract.ts.
 */
export type Store = StandaloneWrites & {
  /**
   * Resolves once the set is durable, or once a condition is known to have failed and nothing was written. Tenants with waiting sets
   * take turns. A tenant that has too much waiting is refused further sets (`StoreOverloadedError`).
   */
  commit(set: WriteSet): Promise<Outcome>

  getToken(tenant: number, id: string): Promise<TokenRow | undefined>
  /** Tokens and their transient fields, all read at one moment: a change between two reads would mix old and new. */
  getTokens(tenant: number, ids: readonly string[]): Promise<TokensWithTransients>
  /**
   * The same, as long as the sealed bytes of the tokens are no more than this; else how many they are, and memory has held no more
   * than that of them. Each id is given once.
   */
  getTokensUpTo(
    tenant: number,
    ids: readonly string[],
    sealedBytesMax: number,
  ): Promise<TokensWithTransients | { readonly sealedBytes: number }>
  /** Newest first, ties by id. */
  listTokens(query: TokenQuery, page: RowsWanted, turns?: Turns): Promise<TokenRow[]>
  countTokens(query: TokenQuery, turns?: Turns): Promise<number>
  /** How many tokens have each term, in the order given. Counting stops at `limit`, and expired tokens are counted. */
  estimateTerms(tenant: number, terms: readonly Uint8Array[], limit: number): Promise<number[]>
  /** The oldest unexpired token that has the term with this tag: the one that deduplication returns. */
  findOldestMatch(tenant: number, match: Match, now: number): Promise<TokenRow | undefined>
  /** Which token holds the claim on a match, expired or not. */
  findMatchHolder(tenant: number, match: Match): Promise<string | undefined>
  /** Longest expired first. Leaves out tokens of deleted tenants, which `purgeDeadTenants` removes with all their rows. */
  listExpiredTokens(now: number, page: { offset: number; limit: number }): Promise<TokenRow[]>

  /**
   * Counters, and by type the expired tokens that they still include because those are not purged yet; with `terms`,
   * only the expired tokens that have one of the terms. Both are read at one moment: a token purged in between would be
   * subtracted twice.
   */
  readCounts(
    tenant: number,
    names: readonly string[],
    now: number,
    terms?: readonly Uint8Array[],
  ): Promise<{ counters: Counter[]; expired: ReadonlyMap<string, number> }>
  readCounters(tenant: number, names: readonly string[]): Promise<Counter[]>
  listCounters(tenant: number): Promise<Counter[]>
  /** How many transient fields of each tenant are due. */
  countDueTransients(pending: PendingDeadlines): Promise<{ tenant: number; due: number }[]>
  /** When the newest token of any tenant was created, according to the counters. */
  newestTokenAt(): Promise<number | undefined>

  /** Scans go through everything that a tenant has stored, page by page; `after` is the last row of the previous page. */
  scanTokens(tenant: number, after: string | undefined, limit: number): Promise<TokenRow[]>
  scanTerms(tenant: number, after: IndexEntry | undefined, limit: number): Promise<IndexEntry[]>
  scanMatches(tenant: number, after: MatchRow | undefined, limit: number): Promise<MatchRow[]>
  /** The entries that are missing from storage, or stored with a different expiry, tag or signature. */
  findAbsentTerms(tenant: number, entries: readonly IndexEntry[]): Promise<IndexEntry[]>

  /** The kept answer for an idempotency key, unless it has expired at `now`. */
  getResult(tenant: number, hash: Uint8Array, now: number): Promise<ResultRow | undefined>
  /** What a background job recorded for the tenant under this name. */
  getReport(tenant: number, name: string): Promise<Uint8Array | undefined>

  /** What is kept about the deliveries of a webhook: how far it has come (the empty id), or one event. */
  getDelivery(tenant: number, webhookId: string, id: string): Promise<DeliveryRow | undefined>
  /** By id, those of events after this one. */
  listDeliveries(tenant: number, webhookId: string, after: string, limit: number): Promise<DeliveryRow[]>
  countDeliveries(tenant: number, webhookId: string): Promise<number>
  /** Longest due first. */
  listDueDeliveries(tenant: number, webhookId: string, now: number, limit: number): Promise<DeliveryRow[]>
  /** The webhooks about whose deliveries something is kept, whether or not they exist. */
  listDeliveryOwners(tenant: number): Promise<string[]>

  /**
   * Blocks of a log: for each cursor those of its writer that hold records from that number on, in order; backwards those that hold
   * records below it, newest first. At most `limit` blocks per writer. A block that was committed late is never behind a cursor (L3).
   */
  readLog(
    tenant: number,
    cursors: readonly LogCursor[],
    options: { readonly limit: number; readonly backwards?: boolean },
  ): Promise<LogBlockRow[]>
  /** The log's writers: how many records each has made, and the first one that is still stored. */
  listLogHeads(tenant: number): Promise<StartedLogHead[]>
  /** Logs that have grown since their tree did, with their trees. */
  listGrownLogs(limit: number): Promise<GrownLog[]>
  getLogTree(tenant: number, writer: number): Promise<LogTreeRow | undefined>
  /** By number, those after this one. */
  listLogOwners(after: number, limit: number): Promise<LogOwnerRow[]>
  findLogOwner(tenantId: string): Promise<LogOwnerRow | undefined>
  newestCheckpoint(): Promise<LogCheckpointRow | undefined>
  /** By size, those larger than this. */
  scanCheckpoints(after: number, limit: number): Promise<LogCheckpointRow[]>
  /** Leaves of the checkpoints' tree from this position on. */
  scanLogLeaves(from: number, limit: number): Promise<LogLeafRow[]>

  listVaultKeys(): Promise<KeyRow[]>
  getTenant(tenant: number): Promise<TenantRow | undefined>
  listTenants(): Promise<TenantRow[]>
  listTenantKeys(tenant: number): Promise<KeyRow[]>
  getApplication(tenant: number, id: string): Promise<ApplicationRow | undefined>
  listApplications(tenant: number): Promise<ApplicationRow[]>
  listApiKeys(tenant: number): Promise<UsedApiKeyRow[]>
  /** Finds only keys that have not expired. */
  findApiKey(hash: Uint8Array, now: number): Promise<ApiKeyRow | undefined>
  listResources(tenant: number): Promise<ResourceRow[]>
  findResource(kind: ResourceKind, hash: Uint8Array): Promise<ResourceRow | undefined>
  /** The tenants that have a resource of this kind, by number. What a tenant has changes only with its revision. */
  listResourceOwners(kind: ResourceKind): Promise<Pick<TenantRow, 'tenant' | 'revision'>[]>
  /** When the next API key expires after `now`, and how many do until `soon`. */
  keyExpiries(
    now: number,
    soon: number,
  ): Promise<{ readonly next: number | undefined; readonly soon: number }>
  /**
   * Grows whenever grants or a tenant's keys may have changed, in this process or another. It is asked before each use
   * of a cached grant, so it answers at once.
   */
  grantsEpoch(): number

  health(): Promise<void>
  /** The time by the clock of the storage server; undefined where that clock is this machine's. */
  time(): Promise<number | undefined>
  close(): Promise<void>
}

/** With `bytesMax`, the rows end with the one by which the sealed bytes of all reach it. */
export type RowsWanted = { readonly offset: number; readonly limit: number; readonly bytesMax?: number }

export type TokensWithTransients = { rows: TokenRow[]; transients: TransientRow[] }

/**
 * A long read calls this between its parts, so that other work can run; the scheduler's `Work` implements it. Without it, a read
 * gives way to whatever else is waiting.
 */
export type Turns = { readonly hasTurn: boolean; turn(): Promise<void> | undefined }

/** Writes other than `commit`: they are not write sets, and share no transaction with one. */
export type StandaloneWrites = {
  /** Deletes up to `limit` transient fields that are due and returns how many. No trace is left once `shred` has run. */
  purgeTransients(pending: PendingDeadlines, limit: number): Promise<number>
  /** Deletes up to `limit` kept answers that are due and returns how many. */
  purgeResults(pending: PendingDeadlines, limit: number): Promise<number>
  /** Deletes the kept answer for an idempotency key if it is due. */
  dropResult(tenant: number, hash: Uint8Array, pending: PendingDeadlines): Promise<void>
  /** Deletes up to about `limit` rows of deleted tenants and returns how many; 0 when none are left. */
  purgeDeadTenants(limit: number): Promise<number>
  /** Removes every byte of deleted rows from the engine's files, as far as the engine owns them. Throws if it could not. */
  shred(): Promise<void>

  /** Stores the whole tenant with the first record of its log, and assigns its number. */
  createTenant(tenant: NewTenant, log: LogPart): Promise<number>
  /** Stores a tree in place of the one of this size, or of none (null); false if another is stored. */
  putLogTree(tree: LogTreeRow, ifSize: number | null): Promise<boolean>
  /** Appends leaves and the checkpoint over them if the newest checkpoint has this size, or if there is none (null). */
  putCheckpoint(
    checkpoint: LogCheckpointRow,
    leaves: readonly LogLeafRow[],
    ifSize: number | null,
  ): Promise<boolean>
  /**
   * Replaces the tree's state, which keeps the edge at the cut, and then deletes, batch by batch, the blocks whose records all come
   * before this one (L7). False if the tree has changed; then nothing is deleted.
   */
  cutLog(tree: LogTreeRow, ifSealed: Uint8Array, before: number): Promise<boolean>
  /** Stores those of the vault's own keys that it does not have yet, and returns those now stored. */
  ensureVaultKeys(keys: readonly KeyRow[]): Promise<KeyRow[]>
  /** Stores a key of the vault or of a tenant as it is wrapped now, and returns whether it was still stored as it was before. */
  replaceKey(owner: KeyOwner, before: KeyRow, wrapped: Uint8Array): Promise<boolean>
  /**
   * No seal covers a tenant's revision, its counters and the engine's own numbers. This replaces numbers that the vault never writes
   * by usable ones: the revision starts again, and a counter gets a wrong value, which a verification finds. It also raises the heads
   * of the log that are below what the log, its tree or a checkpoint has, so that no number of a record is given twice, and returns
   * how many.
   */
  mendNumbers(tenant: number): Promise<number>
  /** Records when keys were last used; the later time wins. */
  noteKeyUse(uses: readonly { hash: Uint8Array; at: number }[]): Promise<void>

  /**
   * Takes the lease, or renews it for its holder; false while another holder has it. A lease that has ended at `now` is
   * free. So is one that ends more than twice as far ahead as the one asked for: it was written with a wrong clock.
   */
  acquireLease(lease: LeaseRow, now: number): Promise<boolean>
  /** Gives up those of these leases that belong to the holder. */
  releaseLeases(holder: string, names: readonly string[]): Promise<void>
}

/** A place in a writer's records. */
export type LogCursor = { readonly writer: number; readonly from: number }
export type StartedLogHead = LogHead & { readonly start: number }
export type GrownLog = { readonly head: LogHead; readonly tree: LogTreeRow | undefined }

/** The vault itself, or the number of a tenant. */
export type KeyOwner = 'vault' | number

/**
 * Which tokens of the tenant, as far as indexes tell: those that meet the branch, or one of `anyOf`. Never includes
 * expired tokens.
 */
export type TokenQuery = {
  readonly tenant: number
  readonly now: number
  /** Only tokens after this position; costs the same at any depth. */
  readonly after?: ListPosition
} & (TokenBranch | { readonly anyOf: readonly TokenBranch[] })

/**
 * Conditions that must all hold. The token needs at least one term (OR) of every group (AND). `ids` narrows further;
 * without it there is at least one group. The rarest group comes first, because engines start from it.
 */
export type TokenBranch = {
  readonly groups: readonly (readonly Uint8Array[])[]
  readonly ids?: readonly string[]
  /** Terms that the token must not have. */
  readonly without?: readonly Uint8Array[]
  readonly withoutIds?: readonly string[]
  readonly createdAt?: InstantRange
  readonly notCreatedAt?: readonly InstantRange[]
  /** Conditions on the row itself, which is read for each token that meets all the others. */
  readonly columns?: readonly ColumnCondition[]
}

/** An empty column meets no condition, so it meets every negated condition. */
export type ColumnCondition = ColumnLookup & { readonly negated: boolean }

/** Other processes on this machine that serve from the same storage and cache grants as this one does (C27). */
export type Neighbours = {
  /** Resolves once all of them have dropped their cached grants. */
  tellGrantsChanged(): Promise<void>
  onGrantsChanged(listener: () => void): void
}

/** Storage does not answer or cannot write. Nothing was written in part. */
export class StoreUnavailableError extends Error {
  /** What is wrong with storage, for the log: constant words, ours or the engine's, never the message. */
  readonly outage: string

  constructor(message: string, { cause, outage }: { cause?: unknown; outage?: string } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'StoreUnavailableError'
    this.outage =
      outage ?? (cause instanceof StoreUnavailableError ? cause.outage : 'storage does not answer')
  }
}

/** The tenant has more writes waiting than its share. This write was not made; writes of other tenants are still accepted. */
export class StoreOverloadedError extends StoreUnavailableError {
  constructor() {
    super('the write was not stored', { outage: 'more writes of its tenant wait than can be stored soon' })
    this.name = 'StoreOverloadedError'
  }
}
