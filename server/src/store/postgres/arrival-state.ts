import type pg from 'pg'
import type { CopyPosition } from '../copying.ts'
import { IncompleteVaultError } from '../sql/inspection.ts'

/**
 * One row, next to the vault's tables: which vault was copied into this database, and how far the copy has come. It is
 * created by the copy, not by a migration, so a vault that never moved has no such table.
 */
export const createArrival = `
  CREATE TABLE arrival (
    source text NOT NULL,
    table_name text NOT NULL,
    rows bigint NOT NULL,
    is_done boolean NOT NULL
  )`

export type Arrival = { readonly source: string; readonly position: CopyPosition; readonly isDone: boolean }

/** Undefined if no vault was ever copied into this database. */
export const readArrival = async (client: Pick<pg.Client, 'query'>): Promise<Arrival | undefined> => {
  const made = await client.query("SELECT to_regclass('arrival') IS NOT NULL AS is_there")
  if (made.rows[0]?.is_there !== true) return undefined
  const { rows } = await client.query('SELECT source, table_name, rows, is_done FROM arrival')
  const [row] = rows
  return {
    source: String(row?.source),
    position: { table: String(row?.table_name), rows: Number(row?.rows) },
    isDone: row?.is_done === true,
  }
}

/** Until a copy is finished its database is not a vault, and must never be taken for a new one. */
export const requireNoHalfCopy = async (client: Pick<pg.Client, 'query'>): Promise<void> => {
  const arrival = await readArrival(client)
  if (arrival !== undefined && !arrival.isDone)
    throw new IncompleteVaultError(
      'a copy into this storage is not finished: run the same strongroom migrate-store again',
      'copy again',
    )
}
