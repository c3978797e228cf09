import type { Columns, Value } from '../columns.ts'
import type { TokenRow } from '../rows.ts'

/** How an engine reads. `List` is what it accepts as one value standing for many, if anything. */
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
