import type { DatabaseSync } from 'node:sqlite'
import { BatchWriter } from '../../src/store/sqlite/writing/batch-writer.ts'

/** Moves every index entry that waits to its place. */
export const settleAll = (database: DatabaseSync): void => {
  // Most readers come when nothing waits, and a writer prepares dozens of statements.
  if (database.prepare('SELECT 1 FROM waiting_terms LIMIT 1').get() === undefined) return
  const writer = new BatchWriter(database)
  while (writer.settleSome() > 0);
}
