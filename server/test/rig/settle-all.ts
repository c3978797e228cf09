import type { DatabaseSync } from 'node:sqlite'
import { BatchWriter } from '../../src/store/sqlite/writing/batch-writer.ts'

/** Moves every index entry that waits to its place. */
export const settleAll = (database: DatabaseSync): void => {
  const writer = new BatchWriter(database)
  while (writer.settleSome() > 0);
}
