import { printable } from '../domain/printable.ts'
import type { Columns, Value } from './columns.ts'
import type { TokenRow } from './rows.ts'
import { keyColumns, type Table } from './tables.ts'

/** A row as engines hand it to each other: its values in the order of the table's columns. */
export type PlainRow = readonly Value[]

/** A vault that nobody else can open while it is held. */
export type RestingVault = {
  /** Changes with every write to the vault. */
  readonly identity: string
  count(table: Table): number
  /**
   * In the order of the key, behind the first `skip` rows; pages are shorter where rows are long. Throws where a
   * value is not of its column's kind.
   */
  pages(table: Table, skip: number, rowsPerPage: number): Iterable<PlainRow[]>
  /** The highest number that a tenant ever had: none is given twice. */
  lastTenant(): number
  close(): void
}

/** How far a copy is: so many rows of this table, and all of the tables before it. */
export type CopyPosition = { readonly table: string; readonly rows: number }

/** Goes through a table in the order of its key. */
export type TableReader = {
  /** The next so many rows, or fewer at the end. */
  next(rows: number): Promise<readonly PlainRow[]>
  close(): Promise<void>
}

/** Storage that a vault is being copied into, and that cannot be served before the copy is finished. */
export type ArrivingVault = {
  /** Where an interrupted copy of the same vault ended; `done` where there is nothing left to do. */
  readonly position: CopyPosition | 'done' | undefined
  /** Durable together with the position, so that a copy can be killed at any moment. */
  append(table: Table, rows: readonly PlainRow[], position: CopyPosition): Promise<void>
  /** One at a time: a reader is closed before the next is opened. */
  read(table: Table): TableReader
  getTokens(tenant: number, ids: readonly string[]): Promise<TokenRow[]>
  /** From here on it is a vault like any other. */
  finish(lastTenant: number): Promise<void>
  close(): Promise<void>
}

/** The copy must not be made; the message says why, and what to do. */
export class CopyRefusedError extends Error {}

/** The row by the names of its columns. */
export const namedColumns = ({ columns }: Table, row: PlainRow): Columns =>
  Object.fromEntries(Object.keys(columns).map((column, place) => [column, row[place]]))

/** A row for people: its table and its key. */
export const rowName = (table: Table, row: PlainRow): string => {
  const named = namedColumns(table, row)
  const values = keyColumns(table)
    .map(column => named[column])
    .map(value => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)))
  return printable(`${table.name} ${values.join(' ')}`)
}
