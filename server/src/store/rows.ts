/**
 * Rows as storage sees them: ids, types, times and counters in the clear, everything else sealed or hashed.
 * `tenant` is a small number that stands for the tenant's id inside storage, so that no index repeats a UUID.
 */
export type TokenRow = {
  readonly tenant: number
  readonly id: string
  readonly type: string
  /** Starts anywhere and grows by one with each change; a change names the version that it was computed from. */
  readonly version: number
  readonly createdAt: number
  readonly createdBy: string
  readonly modifiedAt: number | null
  readonly modifiedBy: string | null
  readonly expiresAt: number | null
  /** When the last of the token's transient fields is due; null where it has none. */
  readonly transientUntil: number | null
  /** The month in which the token was last created or read, as 202611; not part of what is sealed. */
  readonly activeMonth: number
  readonly sealed: Uint8Array
}

export type TransientRow = {
  readonly tenant: number
  readonly tokenId: string
  readonly field: string
  readonly expiresAt: number
  readonly sealed: Uint8Array
}

/** What each index entry of a token carries, so that lists read the index alone. */
export type IndexedToken = {
  readonly tokenId: string
  readonly createdAt: number
  readonly expiresAt: number | null
  /** Of all its terms (term-signature.ts); null where it was written before there were signatures. */
  readonly signature: number | null
}

/** Something that a token is found by, as a keyed hash. */
export type IndexTerm = {
  readonly term: Uint8Array
  /**
   * Tells apart tokens that share a term. On a fingerprint it stands for what else deduplication compares. On a
   * container it says that the token is not in it but somewhere below. Null on all other terms.
   */
  readonly tag: Uint8Array | null
}

/** A stored entry of the index. */
export type IndexEntry = IndexTerm & IndexedToken

/** Which token holds a match (C15). */
export type MatchRow = { readonly term: Uint8Array; readonly tag: Uint8Array; readonly tokenId: string }

export type TenantRow = {
  readonly tenant: number
  readonly id: string
  /** Grows with each change of the tenant, its applications or their keys, so that none misses another. */
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
  /** Also sealed; as a column it lets an expired key cost what an unknown one costs (C30). */
  readonly expiresAt: number | null
  readonly sealed: Uint8Array
}

/** When it was used is kept lazily and not sealed: a hint for people, never a reason to grant. */
export type UsedApiKeyRow = ApiKeyRow & { readonly lastUsedAt: number | null }

/** The kept answer to a request with an idempotency key. */
export type ResultRow = {
  readonly tenant: number
  readonly hash: Uint8Array
  readonly expiresAt: number
  readonly sealed: Uint8Array
}

/** A tenant as it is born: whole, or not at all. */
export type NewTenant = {
  readonly id: string
  readonly sealed: Uint8Array
  readonly keys: readonly KeyRow[]
  readonly applications: readonly Omit<ApplicationRow, 'tenant'>[]
  readonly apiKeys: readonly Omit<ApiKeyRow, 'tenant'>[]
}

export type KeyRow = { readonly purpose: string; readonly version: number; readonly wrapped: Uint8Array }

/** Which node does what only one should do at a time. */
export type LeaseRow = { readonly name: string; readonly holder: string; readonly until: number }

export type Counter = {
  readonly name: string
  readonly value: number
  /** The latest moment at which the counter rose, where its writers tell it. */
  readonly at: number | null
}
