import type { DatabaseSync } from 'node:sqlite'
import type { CounterMove } from '../../write-set.ts'

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
