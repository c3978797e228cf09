import type { KeyRow, TermRow, TokenRow, TransientRow } from './rows.ts'

/**
 * What one operation wants to change. A write set is applied whole or not at all, and only while every
 * condition in it holds; it is plain data, so a writer may live on another thread or another machine.
 */
export type WriteSet = {
  readonly tenant: number
  readonly guarded: readonly GuardedChange[]
  readonly effects: readonly Effect[]
  readonly counters: readonly CounterMove[]
}

/** Each carries a condition: an insert wants its key free, `ifVersion` and `insteadOf` want the row unchanged. */
export type GuardedChange =
  | { readonly kind: 'insertToken'; readonly row: TokenRow }
  | { readonly kind: 'updateToken'; readonly row: TokenRow; readonly ifVersion: number }
  | { readonly kind: 'deleteToken'; readonly id: string; readonly ifVersion: number }
  | {
      readonly kind: 'claimMatch'
      readonly match: Uint8Array
      readonly tokenId: string
      readonly insteadOf: string | null
    }
  | { readonly kind: 'insertTenantKey'; readonly row: KeyRow }

/** What follows when every condition held. */
export type Effect =
  | { readonly kind: 'releaseMatch'; readonly match: Uint8Array; readonly tokenId: string }
  | { readonly kind: 'addTerms'; readonly rows: readonly TermRow[] }
  | { readonly kind: 'removeTerms'; readonly rows: readonly TermRow[] }
  | { readonly kind: 'putTransient'; readonly row: TransientRow }
  | { readonly kind: 'dropTransient'; readonly tokenId: string; readonly field: string }

export type CounterMove = { readonly name: string; readonly by: number; readonly at?: number }

/** Why a set was dropped; nothing of it was written. */
export type Conflict = 'tokenExists' | 'tokenChanged' | 'matchTaken' | 'tenantGone' | 'keyExists'

export type Outcome =
  | { readonly committed: true }
  | { readonly committed: false; readonly conflict: Conflict }
