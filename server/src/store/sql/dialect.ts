import type { Columns, Value } from '../columns.ts'
import type { TokenRow } from '../rows.ts'

/** SQL with a `?` for each value, in order. `List` is the engine's type for one parameter that holds many values, if it has one. */
export type Sql<List = never> = { readonly sql: string; readonly values: readonly (Value | List)[] }

/** A sum, because SQLite plans a statement again, for 5 to 75 µs, each time a bare `LIMIT ?` is bound to a value. */
export const limited = 'LIMIT ? + 0'

/** Where the shared SQL differs between engines. */
export type Dialect<List = never> = {
  /**
   * The token rows for what a query finds (created_at, token_id), newest first, ties by id; one look-up for each. An engine that sends
   * rows over a network ends them by `bytesMax` itself.
   */
  readonly rowsFound: (tenant: number, found: Sql<List>, bytesMax?: number) => Sql<List>
  /** Ends each EXISTS of a SELECT that has this many of them, so that the planner keeps a look-up per row and does not make it a join. */
  readonly perRow: (lookUps: number) => string
  /** Ends a sorted subquery that has no limit, so that the engine keeps its order. */
  readonly withoutEnd: string
  /** The rows of all selects without repetitions. The enclosing statement sorts by `order`, which is the index order. */
  readonly union: (selects: readonly string[], order: string) => string
  readonly oneOf: (column: string, values: readonly string[] | readonly Uint8Array[]) => Sql<List>
  /** The condition that row `t` is a token of this tenant with one of the ids. */
  readonly hasId: (tenant: number, ids: readonly string[]) => Sql<List>
}

/** How an engine reads. */
export type Reading<List = never> = {
  readonly rows: <Row>(
    sql: string,
    values: readonly (Value | List)[],
    toRow: (row: Columns) => Row,
  ) => Promise<Row[]>
  /** The first row. */
  readonly row: <Row>(
    sql: string,
    values: readonly (Value | List)[],
    toRow: (row: Columns) => Row,
  ) => Promise<Row | undefined>
  /** For SQL that selects `tokenColumns`. */
  readonly tokens: (sql: string, values: readonly (Value | List)[]) => Promise<TokenRow[]>
}
