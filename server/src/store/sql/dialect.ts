import type { Value } from '../columns.ts'

/** SQL with a `?` for each value, in order. `List` is what an engine takes as one value for many, if it does. */
export type Sql<List = never> = { readonly sql: string; readonly values: readonly (Value | List)[] }

/** A sum, because SQLite plans a statement anew, for 5 to 75 µs, each time that a bare `LIMIT ?` is given a value. */
export const limited = 'LIMIT ? + 0'

/** Where the SQL that engines share differs between them. */
export type Dialect<List = never> = {
  /** The rows of tokens that a query finds (created_at, token_id), newest first, ties by id; one look-up for each. */
  readonly rowsFound: (tenant: number, found: Sql<List>) => Sql<List>
  /** Ends an EXISTS, so that it stays one look-up for each row and no planner makes a join of it. */
  readonly perRow: string
  /** Ends a sorted subquery that has no limit, so that the engine keeps its order. */
  readonly withoutEnd: string
  /** The rows of all selects, each once. The statement around it sorts in `order`, which is that of the indexes. */
  readonly union: (selects: readonly string[], order: string) => string
  readonly oneOf: (column: string, values: readonly string[] | readonly Uint8Array[]) => Sql<List>
  /** That the row `t` is a token of this tenant and has one of the ids. */
  readonly hasId: (tenant: number, ids: readonly string[]) => Sql<List>
}
