import type { Term } from '../../domain/tokens/index-terms.ts'
import type { TokenQuery } from '../../store/port.ts'
import type { Matches } from './show-tokens.ts'

/** A list or a search, as storage is asked for it, and as an opened token is checked against it. */
export type Planned = {
  readonly query: TokenQuery
  readonly matches: Matches
  /** Whether the index alone tells which tokens match. Otherwise every token that it proposes must be opened. */
  readonly isExact: boolean
  /**
   * It asks for tokens with one of these terms and for nothing else; absent if it asks for more. None is repeated, and no container
   * lies within another.
   */
  readonly onlyTerms?: readonly Term[]
}
