import type { DatabaseSync } from 'node:sqlite'
import type { CounterMove } from '../../write-set.ts'

export const counterMover = (database: DatabaseSync): ((tenant: number, move: CounterMove) => void) => {
  const move = database.prepare(
    `INSERT INTO counters (tenant, name, value, at) VALUES (?,?,?,?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value, at = coalesce(max(at, excluded.at), excluded.at, at)`,
  )
  return (tenant, { name, by, at }) => {
    move.run(tenant, name, by, at ?? null)
  }
}
