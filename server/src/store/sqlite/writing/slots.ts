import type { DatabaseSync } from 'node:sqlite'

/**
 * Slots hold bytes that must leave no trace when deleted (see 0001-vault). Returns the number of the slot that now
 * holds the bytes: a free one of their size, or a new one. Deleting the row that names a slot wipes it.
 */
export const slotFiller = (database: DatabaseSync): ((bytes: Uint8Array) => number) => {
  const fill = database.prepare(
    `UPDATE slots SET is_free = 0, bytes = ?
     WHERE slot = (SELECT slot FROM slots WHERE is_free AND size = ? LIMIT 1) RETURNING slot`,
  )
  const add = database.prepare('INSERT INTO slots (size, is_free, bytes) VALUES (?,0,?)')
  return bytes => Number(fill.get(bytes, bytes.length)?.slot ?? add.run(bytes.length, bytes).lastInsertRowid)
}
