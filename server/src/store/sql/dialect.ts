import type { Value } from './columns.ts'

/** SQL with a `?` for each value, in order. `List` is what an engine takes as one value for many, if it does. */
export type Sql<List = never> = { readonly sql: string; readonly values: readonly (Value | List)[] }

/** All that the engines' SQL differs in, where they share it. */
export type Dialect<List = never> = {
  /** A join that starts from its left side. */
  readonly joinInOrder: string
  /** Makes a sorted subquery without an end keep its order. */
  readonly withoutEnd: string
  readonly oneOf: (column: string, values: readonly string[] | readonly Uint8Array[]) => Sql<List>
}
