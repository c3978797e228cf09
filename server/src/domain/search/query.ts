import type { Term } from '../index-terms.ts'
import type { Token } from '../token.ts'
import type { InstantRange } from './instant-range.ts'

/**
 * A search query, read (C26). `position` is where the node starts in the caller's text, in characters from 1.
 */
export type Query =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Query[]; readonly position: number }
  | { readonly kind: 'not'; readonly part: Query; readonly position: number }
  | { readonly kind: 'term'; readonly condition: Condition; readonly position: number }

/** What one `field:value` asks of a token. */
export type Condition = {
  /** The field as the query named it; values stay inside the closures. */
  readonly field: string
  /** How storage can tell, without opening the token; absent where only the opened token tells. */
  readonly lookup?: Lookup
  /** The index proposes more than is meant; the opened token decides. */
  readonly onlyProposed?: true
  /** C26.7: for a caller under `redact` no token meets it. */
  readonly hiddenUnderRedact?: true
  readonly matches: (token: Token) => boolean
}

export type Lookup =
  | { readonly by: 'id'; readonly id: string }
  /** The token has one of these terms. */
  | { readonly by: 'term'; readonly terms: readonly Term[] }
  | { readonly by: 'createdAt'; readonly range: InstantRange }
