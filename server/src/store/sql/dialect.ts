import type { Value } from '../columns.ts'

/** SQL with a `?` for each value, in order. `List` is what an engine takes as one value for many, if it does. */
export type Sql<List = never> = { readonly sql: string; readonly values: readonly (Value | List)[] }

/** A sum, because SQLite plans a statement anew, for 5 to 75 µs, each time that a bare `LIMIT ?` is given a value. */
export const limited = 'LIMIT ? + 0'

/** All that the engines' SQL differs in, where they share it. */
export type Dialect<List = never> = {
  /** The rows of tokens that a query finds (created_at, token_id), newest first, ties by id; one look-up for each. */
  readonly rowsFound: (tenant: number, found: Sql<List>) => Sql<List>
  /** Keeps an EXISTS what it says: one look-up for each row. */
  readonly perRow: string
  /** Makes a sorted subquery without an end keep its order. */
  readonly withoutEnd: string
  /** Rows of all of them, each once. What surrounds it sorts in this order, and the indexes have it. */
  readonly union: (selects: readonly string[], order: string) => string
  readonly oneOf: (column: string, values: readonly string[] | readonly Uint8Array[]) => Sql<List>
  /** That the row `t` of a token is one of those, of this tenant. */
  readonly hasId: (tenant: number, ids: readonly string[]) => Sql<List>
}
