import { printable } from '../domain/text/terminal.ts'
import type { Columns, Value } from './columns.ts'
import type { TokenRow } from './rows.ts'
import { keyColumns, type Table } from './tables.ts'

/** A row as passed between engines: its values in the order of the table's columns. */
export type PlainRow = readonly Value[]

/** A vault that no other process can open while it is held. */
export type CopySource = {
  /** Changes with every write to the vault. */
  readonly identity: string
  count(table: Table): number
  /**
   * Rows in key order, after the first `skip`. Pages hold fewer rows where rows are long. Throws if a value does not
   * match the kind of its column.
   */
  pages(table: Table, skip: number, rowsPerPage: number): Iterable<PlainRow[]>
  /** The highest tenant number ever assigned. Numbers are not reused. */
  lastTenant(): number
  /** Deletes all transient fields and leaves no byte of them in the vault's files (C11). Returns the vault's new identity. */
  forgetTransients(): string
  close(): void
}

/** The progress of a copy: this many rows of this table, and all rows of the tables before it. */
export type CopyPosition = { readonly table: string; readonly rows: number }

/** Reads a table in the order of its key. */
export type TableReader = {
  /** The next `rows` rows, or fewer at the end. */
  next(rows: number): Promise<readonly PlainRow[]>
  close(): Promise<void>
}

/** Storage that a vault is being copied into. It cannot be served before the copy is finished. */
export type CopyTarget = {
  /** Where an interrupted copy of the same vault stopped, or `done` if nothing is left to copy. */
  readonly position: CopyPosition | 'done' | undefined
  /** The rows become durable together with the position, so a copy may be killed at any moment. */
  append(table: Table, rows: readonly PlainRow[], position: CopyPosition): Promise<void>
  /** Only one reader at a time: close it before opening the next. */
  read(table: Table): TableReader
  getTokens(tenant: number, ids: readonly string[]): Promise<TokenRow[]>
  /** Completes the copy: the database is now an ordinary vault. */
  finish(lastTenant: number): Promise<void>
  close(): Promise<void>
}

/** The copy is refused. The message says why, and what to do. */
export class CopyRefusedError extends Error {}

/** The row's values by column name. */
export const namedColumns = ({ columns }: Table, row: PlainRow): Columns =>
  Object.fromEntries(Object.keys(columns).map((column, place) => [column, row[place]]))

/** How a row is named to people: its table and its key. */
export const rowName = (table: Table, row: PlainRow): string => {
  const named = namedColumns(table, row)
  const values = keyColumns(table)
    .map(column => named[column])
    .map(value => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)))
  return printable(`${table.name} ${values.join(' ')}`)
}
