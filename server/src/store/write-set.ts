import type {
  ApiKeyRow,
  DeliveryRow,
  IndexedToken,
  IndexTerm,
  KeyRow,
  ResourceKind,
  ResourceRow,
  ResultRow,
  TokenRow,
  TransientRow,
  WithoutTenant,
} from './rows.ts'

/**
 * What one operation wants to change. A write set is applied whole or not at all, and only if every condition in it
 * holds. Apart from its log it is plain data, so the writer may be on another thread or another machine.
 */
export type WriteSet = {
  readonly tenant: number
  readonly guarded: readonly GuardedChange[]
  readonly effects: readonly Effect[]
  readonly counters: readonly CounterMove[]
  /**
   * What it adds to the log of its tenant; null if it is bookkeeping, which is no act (L1). A set with nothing but a log needs no
   * living tenant.
   */
  readonly log: LogPart | null
}

/** Records of acts. The parts of a tenant's sets that are committed together are sealed together, as one block. */
export type LogPart = {
  readonly records: number
  /** About how long its sealed form will be. */
  readonly bytes: number
  /** Seals the records of this part and then those of the others, in order. */
  sealWith(others: readonly LogPart[]): SealedLog
}

export type SealedLog = {
  /** The earliest and the latest time of its records. */
  readonly firstAt: number
  readonly lastAt: number
  readonly sealed: Uint8Array
}

/** Whether the set changes anything but the log. */
export const changesContent = ({ guarded, effects, counters }: Omit<WriteSet, 'log'>): boolean =>
  guarded.length + effects.length + counters.length > 0

/** Whether the set changes grants or a tenant's keys, which makes anything cached of them out of date. */
export const changesGrants = ({ guarded }: WriteSet): boolean =>
  guarded.some(({ kind }) => kind === 'reviseTenant' || kind === 'insertTenantKey')

/** What equal tokens share (C15): the term of their fingerprint, and a tag for expression and containers. */
export type Match = { readonly term: Uint8Array; readonly tag: Uint8Array }

/** Each carries a condition: an insert needs its key to be free; `ifVersion` and `insteadOf` need the row unchanged. */
export type GuardedChange =
  | { readonly kind: 'insertToken'; readonly row: WithoutTenant<TokenRow> }
  | { readonly kind: 'updateToken'; readonly row: WithoutTenant<TokenRow>; readonly ifVersion: number }
  /** Changes nothing: the token's row must hold these sealed bytes, or with null must not exist. */
  | { readonly kind: 'expectToken'; readonly id: string; readonly sealed: Uint8Array | null }
  | { readonly kind: 'deleteToken'; readonly id: string; readonly ifVersion: number }
  | {
      readonly kind: 'claimMatch'
      readonly match: Match
      readonly tokenId: string
      readonly insteadOf: string | null
    }
  | { readonly kind: 'insertTenantKey'; readonly row: KeyRow }
  /** Precedes every change of grants, and fails if another change came in between. */
  | { readonly kind: 'reviseTenant'; readonly ifRevision: number }
  /** Keeps the answer for an idempotency key that has none, or whose previous answer has expired at `now`. */
  | { readonly kind: 'keepResult'; readonly row: WithoutTenant<ResultRow>; readonly now: number }
  /** Replaces a report that holds these sealed bytes, or with null makes one that does not exist. */
  | {
      readonly kind: 'replaceReport'
      readonly name: string
      readonly sealed: Uint8Array
      readonly ifSealed: Uint8Array | null
    }

/** Applied once every condition has held. */
export type Effect =
  | { readonly kind: 'releaseMatch'; readonly match: Match; readonly tokenId: string }
  | { readonly kind: 'addTerms'; readonly of: IndexedToken; readonly terms: readonly IndexTerm[] }
  | { readonly kind: 'removeTerms'; readonly of: IndexedToken; readonly terms: readonly IndexTerm[] }
  | { readonly kind: 'putTransient'; readonly row: WithoutTenant<TransientRow> }
  | { readonly kind: 'dropTransient'; readonly tokenId: string; readonly field: string }
  /** Marks tokens as active in the month and raises its counter by the number of those that were not. */
  | {
      readonly kind: 'markActive'
      readonly ids: readonly string[]
      readonly month: number
      readonly counter: string
    }
  | { readonly kind: 'putReport'; readonly name: string; readonly sealed: Uint8Array }
  | { readonly kind: 'putDelivery'; readonly row: WithoutTenant<DeliveryRow> }
  /** Has it attempted at this time, if it still waits. */
  | { readonly kind: 'hastenDelivery'; readonly webhookId: string; readonly id: string; readonly at: number }
  | { readonly kind: 'dropDelivery'; readonly webhookId: string; readonly id: string }
  /** All that is kept about the deliveries of a webhook. */
  | { readonly kind: 'dropDeliveries'; readonly webhookId: string }
  | { readonly kind: 'putTenant'; readonly sealed: Uint8Array }
  /** The tenant and its keys are gone at once; its tokens are removed later (`purgeDeadTenants`). */
  | { readonly kind: 'deleteTenant' }
  | { readonly kind: 'putApplication'; readonly id: string; readonly sealed: Uint8Array }
  | { readonly kind: 'deleteApplication'; readonly id: string }
  | { readonly kind: 'putApiKey'; readonly row: WithoutTenant<ApiKeyRow> }
  | { readonly kind: 'deleteApiKey'; readonly applicationId: string; readonly id: string }
  | { readonly kind: 'putResource'; readonly row: WithoutTenant<ResourceRow> }
  | { readonly kind: 'deleteResource'; readonly of: ResourceKind; readonly id: string }

export type CounterMove = { readonly name: string; readonly by: number; readonly at?: number }

const conflicts = [
  'tokenExists',
  'tokenChanged',
  'matchTaken',
  'tenantGone',
  'tenantRevised',
  'keyExists',
  'resultKept',
  'reportChanged',
] as const

/** Why a set was dropped; nothing of it was written. */
export type Conflict = (typeof conflicts)[number]

export const isConflict = (value: unknown): value is Conflict => conflicts.some(name => name === value)

export type Outcome =
  | { readonly committed: true }
  | { readonly committed: false; readonly conflict: Conflict }

/** This many sealed bytes take as long to store as a row. */
const bytesPerRow = 1_024

/**
 * How much work a set is for storage, in rows; bytes are counted as rows. On the embedded engine a row takes 8 to 25 µs of the writing
 * thread, more in a large vault (docs/decisions/0022).
 */
export const weightOf = ({ guarded, effects, counters, log }: WriteSet): number => {
  let rows = 1 + guarded.length + counters.length
  let bytes = log === null ? 0 : log.bytes
  for (const change of guarded) if ('row' in change) bytes += bytesIn(change.row)
  for (const effect of effects) {
    if ('terms' in effect) rows += effect.terms.length
    else if ('ids' in effect) rows += effect.ids.length
    else rows++
    if ('row' in effect) bytes += bytesIn(effect.row)
    else if ('sealed' in effect) bytes += effect.sealed.length
  }
  // `bytes` is NaN if a value has no length; the engine will refuse that value.
  return bytes > 0 ? rows + Math.floor(bytes / bytesPerRow) : rows
}

const bytesIn = (row: { readonly sealed: Uint8Array } | { readonly wrapped: Uint8Array }): number =>
  'sealed' in row ? row.sealed.length : row.wrapped.length

type Sum = { name: string; by: number; at?: number }

/** Up to this many sums, a search is faster than a map. Most write sets move only a few counters. */
const unmappedMax = 8

/** Sums the counter moves of one tenant, in a write set or a whole batch: a thousand creates move each counter once. */
export class CounterSums {
  readonly #sums: Sum[] = []
  #byName: Map<string, Sum> | undefined

  get moves(): readonly CounterMove[] {
    return this.#sums
  }

  add({ name, by, at }: CounterMove): void {
    const sum = this.#find(name) ?? this.#start(name)
    sum.by += by
    if (at !== undefined) sum.at = Math.max(sum.at ?? at, at)
  }

  #find(name: string): Sum | undefined {
    return this.#byName === undefined ? this.#sums.find(sum => sum.name === name) : this.#byName.get(name)
  }

  #start(name: string): Sum {
    const sum: Sum = { name, by: 0 }
    this.#sums.push(sum)
    if (this.#byName !== undefined) this.#byName.set(name, sum)
    else if (this.#sums.length > unmappedMax)
      this.#byName = new Map(this.#sums.map(each => [each.name, each]))
    return sum
  }
}
