import type { DatabaseSync } from 'node:sqlite'
import type { CounterMove } from '../../write-set.ts'

// Statements that write sets and standalone writes share.

/** For the rows that a new tenant starts with, and for those that are added later. */
export const insertTenantKey = 'INSERT INTO tenant_keys (tenant, purpose, version, slot) VALUES (?,?,?,?)'
export const insertApplication = 'INSERT INTO applications (tenant, application_id, sealed) VALUES (?,?,?)'
export const insertApiKey =
  'INSERT INTO api_keys (hash, tenant, key_id, application_id, expires_at, sealed) VALUES (?,?,?,?,?,?)'

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

/** A counter that stands at zero is removed, unless it says when it last rose. */
export const counterMover = (database: DatabaseSync): ((tenant: number, move: CounterMove) => void) => {
  const move = database.prepare(
    `INSERT INTO counters (tenant, name, value, at) VALUES (?,?,?,?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value, at = coalesce(max(at, excluded.at), excluded.at, at)`,
  )
  const removeAtZero = database.prepare(
    'DELETE FROM counters WHERE tenant = ? AND name = ? AND value = 0 AND at IS NULL',
  )
  return (tenant, { name, by, at }) => {
    move.run(tenant, name, by, at ?? null)
    if (at === undefined) removeAtZero.run(tenant, name)
  }
}
