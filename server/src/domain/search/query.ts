import { invalid, type VaultError } from '../errors.ts'
import type { InstantRange } from '../time/instant.ts'
import type { Term } from '../tokens/index-terms.ts'
import type { Token } from '../tokens/token.ts'

/** A parsed search query (C26). `position` is where the node starts in the caller's text, in characters from 1. */
export type Query =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Query[]; readonly position: number }
  | { readonly kind: 'not'; readonly part: Query; readonly position: number }
  | { readonly kind: 'term'; readonly condition: Condition; readonly position: number }

/** What one `field:value` asks of a token. */
export type Condition = {
  /** The field as the query named it; values stay inside the closures. */
  readonly field: string
  /** What the value is, if not one to be equal to. */
  readonly operator?: 'range' | 'wildcard'
  /** How storage can tell without opening the token. */
  readonly lookup: Lookup
  /** C26.7: no token meets it for a caller under `redact`. */
  readonly hiddenUnderRedact?: true
  readonly matches: (token: Token, hashed: HashedTerm) => boolean
}

/** A term as a token keeps it (`Token.indexTerms`). */
export type HashedTerm = (term: Term) => string

export type Lookup =
  | { readonly by: 'id'; readonly id: string }
  /** The token has one of these terms. */
  | { readonly by: 'term'; readonly terms: readonly Term[] }
  | { readonly by: 'createdAt'; readonly range: InstantRange }
  /** A plain column of the token's row that no index has. It only checks what another condition proposes. */
  | { readonly by: 'column'; readonly condition: ColumnLookup }

export type ColumnLookup =
  | { readonly column: 'createdBy' | 'modifiedBy'; readonly is: string }
  | { readonly column: 'modifiedAt'; readonly within: InstantRange }

/** What is wrong with a query and where (C26). The text is constant; `position` counts characters from 1. */
export const queryFault = (problem: string, position: number): VaultError =>
  invalid({ path: 'query', message: `${problem}, at character ${position}` })

/** What a record says of a query: which fields it asks for, and how, but neither values nor keys, which are the caller's. */
export const describeQuery = (query: Query): { fields: string[]; operators: string[] } => {
  const fields = new Set<string>()
  const operators = new Set<string>()
  const walk = (part: Query): void => {
    if (part.kind === 'term') {
      const { field, operator } = part.condition
      fields.add(field.startsWith('metadata.') ? 'metadata.*' : field)
      if (operator !== undefined) operators.add(operator)
    } else {
      operators.add(part.kind.toUpperCase())
      for (const inner of part.kind === 'not' ? [part.part] : part.parts) walk(inner)
    }
  }
  walk(query)
  return { fields: [...fields], operators: [...operators] }
}
