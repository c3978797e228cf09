import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { tokenRow } from '../../columns.ts'
import type { TokenRow } from '../../rows.ts'
import type { Sql } from '../../sql/dialect.ts'
import { tokenById, tokenColumns } from '../../sql/statements.ts'
import { rowNumberOf } from '../row-number.ts'
import { ReadStatement } from './read-statement.ts'

/** Adds `row_number_of(id)` to SQL: the row number derived from an id. */
export const withRowNumbers = (database: DatabaseSync): DatabaseSync => {
  database.function('row_number_of', { deterministic: true }, id => rowNumberOf(String(id)))
  return database
}

/**
 * The condition that a token's row `table` has one of the ids. Each is looked up by its number, or else in the index of
 * ids.
 */
export const hasOneOfIds = (table: 'k' | 't', tenant: number, ids: readonly string[]): Sql => {
  if (ids.length === 0) return { sql: `${table}.rowid IN ()`, values: [] }
  // `column1` is SQLite's name for the values listed by VALUES. The `+` keeps SQLite from using the index of ids at once.
  return {
    sql: `${table}.rowid IN (SELECT coalesce(
      (SELECT r.rowid FROM tokens r WHERE r.rowid = row_number_of(column1) AND +r.tenant = ? AND r.token_id = column1),
      (SELECT r.rowid FROM tokens r WHERE r.tenant = ? AND r.token_id = column1))
      FROM (VALUES ${ids.map(() => '(?)').join()}))`,
    values: [tenant, tenant, ...ids],
  }
}

export type TokenReader = {
  one(tenant: number, id: string): TokenRow | undefined
  /** For a statement built by the dialect's `rowsFound`. */
  found(tenant: number, statement: ReadStatement, values: readonly SQLInputValue[]): TokenRow[]
}

export const tokenReader = (database: DatabaseSync): TokenReader => {
  const byNumber = new ReadStatement(
    database,
    `SELECT ${tokenColumns} FROM tokens k WHERE k.rowid = ? AND +k.tenant = ? AND k.token_id = ?`,
  )
  const byId = new ReadStatement(database, tokenById)
  const oneById = (tenant: number, id: string): TokenRow | undefined => {
    const row = byId.array(tenant, id)
    return row && tokenRow(row)
  }
  return {
    one: (tenant, id) => {
      const number = rowNumberOf(id)
      const row = number === null ? undefined : byNumber.array(number, tenant, id)
      return row === undefined ? oneById(tenant, id) : tokenRow(row)
    },
    found: (tenant, statement, values) =>
      statement
        .arrays(...values)
        .map(row => {
          const missing = row.at(-1)
          return missing === null ? tokenRow(row) : oneById(tenant, String(missing))
        })
        .filter(row => row !== undefined),
  }
}

/** For a statement that yields whole tokens. */
export const readTokens = (statement: ReadStatement, values: readonly SQLInputValue[]): TokenRow[] =>
  statement.arrays(...values).map(tokenRow)
