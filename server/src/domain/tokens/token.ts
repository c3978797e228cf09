import type { Authorship } from '../authorship.ts'
import type { Json } from '../json/json.ts'
import type { Secret } from '../secret.ts'
import type { Expiry } from '../time/date-time.ts'
import type { Instant } from '../time/instant.ts'
import type { TokenType } from './types/token-type.ts'

export type Metadata = Readonly<Record<string, string>>

/** A field of `data` that lives only for a while (C11). It is kept, sealed and purged apart from the rest. */
export type Transient = { readonly field: string; readonly value: Secret<Json>; readonly expiresAt: Instant }

/** Whose mask is in force. `nobody`: it was cleared, and nothing is shown under `mask`. */
export type MaskChoice =
  | { readonly from: 'type' }
  | { readonly from: 'caller'; readonly template: Json }
  | { readonly from: 'nobody' }

/** For an object that is still being put together. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }

export type Token = {
  readonly id: string
  readonly tenantId: string
  /** The caller chose the id, even if it looks like one of the vault's (C16). */
  readonly hasChosenId?: true
  readonly type: TokenType
  readonly version: number
  /** Without the transient fields. */
  readonly data: Secret<Json>
  readonly transients: readonly Transient[]
  readonly mask: MaskChoice
  readonly containers: readonly string[]
  readonly metadata?: Metadata
  /** Undefined if the type's own indexes are in force. */
  readonly searchIndexes?: readonly string[]
  /**
   * What each search index in force rendered when data or indexes were last written, as the keyed hash by which the index knows it,
   * in base64; null where it rendered nothing. So searches, updates and deletes need not render an index again.
   */
  readonly indexTerms: readonly (string | null)[]
  /** Undefined if the type's own expression is in force. */
  readonly fingerprintExpression?: string
  readonly fingerprint?: string
  readonly deduplicate?: boolean
  readonly expiry?: Expiry
  readonly blind: Blindness
  /** The month in which the token was last created or read (C32), as 202611. */
  readonly activeMonth: number
} & Authorship

/**
 * C13: parts set by someone who could not read the token, to whom their rendering could reveal its data. `maskWithheld`
 * marks a blind mask that would render too much of a card number: it renders nothing.
 */
export type Blindness = {
  readonly mask?: true
  readonly maskWithheld?: true
  readonly fingerprint?: true
}

export const isBlind = (token: Pick<Token, 'blind'>): boolean =>
  token.blind.mask === true || token.blind.fingerprint === true

export const isExpired = (token: Pick<Token, 'expiry'>, now: Instant): boolean =>
  token.expiry !== undefined && token.expiry.at <= now

/** Whether a token lies in the container where its type puts it, and in no other. */
export const isAtHome = ({ type, containers }: Pick<Token, 'type' | 'containers'>): boolean =>
  containers.length === 1 && containers[0] === type.container

export const fingerprintExpressionInForce = (token: Pick<Token, 'fingerprintExpression' | 'type'>): string =>
  token.fingerprintExpression ?? token.type.fingerprint

export const searchIndexesInForce = (token: Pick<Token, 'searchIndexes' | 'type'>): readonly string[] =>
  token.searchIndexes ?? token.type.searchIndexes ?? []

/** The expressions of the mask in force, or undefined if the token has none. */
export const maskInForce = (token: Pick<Token, 'mask' | 'type'>): Json | undefined => {
  switch (token.mask.from) {
    case 'type':
      return token.type.mask
    case 'caller':
      return token.mask.template
    case 'nobody':
      return undefined
  }
}
