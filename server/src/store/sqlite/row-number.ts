import type { DatabaseSync } from 'node:sqlite'
import { ownIdToleranceMs } from '../../domain/tokens/token-id.ts'
import type { Sql } from '../sql/dialect.ts'

const idLength = 36
/** 1 January 2020: counted from here, milliseconds and counter fit the 53 bits of a safe integer until 2089. */
const epoch = Date.UTC(2020)
const timeMax = 2 ** 41
const counters = 2 ** 12

/**
 * The row number of a token in its table, derived from its id: the milliseconds of a UUIDv7 and the twelve bits after
 * them (crypto/uuid.ts). Finding a row by id takes two look-ups, in the index of ids and in the table, each on a
 * page that is seldom in memory. Null for an id of another form. The number is only a hint: another row may have it. A row that is not
 * found by its number is found by the index.
 */
export const rowNumberOf = (id: string): number | null => {
  if (id.length !== idLength || id[14] !== '7') return null
  const time = hexAt(id, 0, 8) * 0x1_0000 + hexAt(id, 9, 13) - epoch
  const counter = hexAt(id, 15, 18)
  return time >= 0 && time < timeMax && counter >= 0 ? time * counters + counter : null
}

/** The number for a row about to be written; null means the next free one. */
export const rowNumberFor = ({ id, createdAt }: { id: string; createdAt: number }): number | null => {
  const number = rowNumberOf(id)
  if (number === null) return null
  const idTime = Math.floor(number / counters) + epoch
  // An id chosen by a caller may claim any time, and its number would place the row among older ones or far ahead.
  return Math.abs(idTime - createdAt) <= ownIdToleranceMs ? number : null
}

/** NaN if a character is not a digit. */
const hexAt = (text: string, from: number, to: number): number => {
  let value = 0
  for (let at = from; at < to; at++) value = value * 16 + (digits[text.charCodeAt(at)] ?? Number.NaN)
  return value
}

const digits: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code))
  return digit < 0 ? undefined : digit
})

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
