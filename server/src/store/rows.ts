/**
 * Rows as storage sees them: ids, types, times and counters in the clear, everything else sealed or hashed. `tenant` is
 * a small number that stands for the tenant's id inside storage, so that no index repeats a UUID.
 */
export type TokenRow = {
  readonly tenant: number
  readonly id: string
  readonly type: string
  /** Starts at an arbitrary number and grows by one with each change. A change names the version it was computed from. */
  readonly version: number
  readonly createdAt: number
  readonly createdBy: string
  readonly modifiedAt: number | null
  readonly modifiedBy: string | null
  readonly expiresAt: number | null
  /** When the last of the token's transient fields is due; null if it has none. */
  readonly transientUntil: number | null
  /** The month in which the token was last created or read, such as 202611. Not sealed with the row. */
  readonly activeMonth: number
  readonly sealed: Uint8Array
}

/** A row whose tenant is known from what it is in, such as a write set. */
export type WithoutTenant<Row extends { readonly tenant: number }> = Omit<Row, 'tenant'>

export type TransientRow = {
  readonly tenant: number
  readonly tokenId: string
  readonly field: string
  readonly expiresAt: number
  readonly sealed: Uint8Array
}

/** What every index entry of a token carries, so that lists need to read only the index. */
export type IndexedToken = {
  readonly tokenId: string
  readonly createdAt: number
  readonly expiresAt: number | null
  /** The signature of all the token's terms (`signatureOf`). */
  readonly signature: number
}

/** A keyed hash by which a token is found. */
export type IndexTerm = {
  readonly term: Uint8Array
  /**
   * Tells apart tokens that share a fingerprint: it stands for everything else that deduplication compares. Null on all
   * other terms.
   */
  readonly tag: Uint8Array | null
}

/** A stored index entry. */
export type IndexEntry = IndexTerm & IndexedToken

/** Which token holds a match (C15). */
export type MatchRow = { readonly term: Uint8Array; readonly tag: Uint8Array; readonly tokenId: string }

export type TenantRow = {
  readonly tenant: number
  readonly id: string
  /** Grows with each change to the tenant, its applications or their keys, so that no change overlooks another. */
  readonly revision: number
  readonly sealed: Uint8Array
}

export type ApplicationRow = {
  readonly tenant: number
  readonly id: string
  readonly sealed: Uint8Array
}

export type ApiKeyRow = {
  readonly tenant: number
  readonly id: string
  readonly applicationId: string
  readonly hash: Uint8Array
  /** Also sealed. As a column it makes an expired key cost the same as an unknown one (C30). */
  readonly expiresAt: number | null
  readonly sealed: Uint8Array
}

/** The time of last use is written lazily and not sealed: a hint for people, never a reason to grant access. */
export type UsedApiKeyRow = ApiKeyRow & { readonly lastUsedAt: number | null }

export type ResourceKind = 'proxy' | 'webhook'

/** Something that a tenant has set up. A proxy is found by the keyed hash of its key; a webhook has none. */
export type ResourceRow = {
  readonly tenant: number
  /** A `ResourceKind`, which whoever opens the row checks. */
  readonly kind: string
  readonly id: string
  readonly hash: Uint8Array | null
  readonly sealed: Uint8Array
}

/** What is kept about the deliveries of a webhook (E4): how far it has come, and each event that could not be delivered at first. */
export type DeliveryRow = {
  readonly tenant: number
  readonly webhookId: string
  /** The id of an event; empty for how far the webhook has come. */
  readonly id: string
  /** When it is to be attempted again; null if it is not. Not sealed. */
  readonly dueAt: number | null
  readonly sealed: Uint8Array
}

/** The kept answer to a request with an idempotency key. */
export type ResultRow = {
  readonly tenant: number
  readonly hash: Uint8Array
  readonly expiresAt: number
  readonly sealed: Uint8Array
}

/** A new tenant, stored whole or not at all. */
export type NewTenant = {
  readonly id: string
  readonly sealed: Uint8Array
  readonly keys: readonly KeyRow[]
  readonly applications: readonly WithoutTenant<ApplicationRow>[]
  readonly apiKeys: readonly WithoutTenant<ApiKeyRow>[]
}

export type KeyRow = { readonly purpose: string; readonly version: number; readonly wrapped: Uint8Array }

/** Which node does a job that only one should do at a time. */
export type LeaseRow = { readonly name: string; readonly holder: string; readonly until: number }

/** The log of the vault's operator, which belongs to no tenant. Tenants are numbered from 1. */
export const operatorLog = 0

/** One row of a log: records that became durable together, sealed as one (L3). */
export type LogBlockRow = {
  /** The number of a tenant, or `operatorLog`. */
  readonly tenant: number
  /** 0 on the embedded engine. On PostgreSQL 0 to 31, shared by nodes. */
  readonly writer: number
  /** The number of its first record. Numbers have no gaps per tenant and writer, and start at 0. */
  readonly first: number
  /** How many of its records count. */
  readonly records: number
  /**
   * One bit for each record that was sealed, if some belong to write sets that were dropped: bit `i & 7` of byte `i >> 3` is set if
   * record `i` counts. Null if all of them do.
   */
  readonly kept: Uint8Array | null
  /** The earliest and the latest time of its records. */
  readonly firstAt: number
  readonly lastAt: number
  readonly sealed: Uint8Array
}

/** How many records a writer has made for a log, those included that were cut off since. */
export type LogHead = { readonly tenant: number; readonly writer: number; readonly size: number }

/** How far the tree over a writer's records has grown; its state is sealed (L4). */
export type LogTreeRow = LogHead & { readonly sealed: Uint8Array }

/** A signed statement about the tree of `size` leaves. */
export type LogCheckpointRow = {
  readonly size: number
  readonly at: number
  readonly note: string
  readonly sealed: Uint8Array
}

/** A leaf of the checkpoints' tree: a log that grew, with the root of its own tree. */
export type LogLeafRow = LogHead & { readonly position: number; readonly root: Uint8Array }

/** Whose log it is. Outlives the tenant. */
export type LogOwnerRow = { readonly tenant: number; readonly id: string }

export type Counter = {
  readonly name: string
  readonly value: number
  /** When the counter last rose, for counters whose writers record it. */
  readonly at: number | null
}

const bits = 31

/**
 * A small Bloom filter over terms. Each index entry of a token carries the filter of all the token's terms: if a bit of
 * some term is missing, the token does not have that term, and no look-up is needed. A bit that is set proves nothing.
 * The bits come from the terms, which are keyed hashes, so storage learns nothing that the token's entries do not
 * already tell it.
 */
export const signatureOf = (terms: readonly Uint8Array[]): number =>
  terms.reduce((signature, term) => signature | bitOf(term[0]) | bitOf(term[1]), 0)

const bitOf = (byte = 0): number => 1 << (byte % bits)
