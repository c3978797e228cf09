import type { Term } from '../../domain/tokens/index-terms.ts'
import type { TokenQuery } from '../../store/port.ts'
import type { Matches } from './show-tokens.ts'

/** A list or a search: what it asks of storage, and how it checks an opened token. */
export type Planned = {
  readonly query: TokenQuery
  readonly matches: Matches
  /** Whether the index alone decides which tokens match. Otherwise every proposed token must be opened. */
  readonly isExact: boolean
  /**
   * Set if the query asks for tokens with one of these terms and for nothing else. No term is repeated, and no container lies
   * within another.
   */
  readonly onlyTerms?: readonly Term[]
}
