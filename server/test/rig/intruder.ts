import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { TestVault } from './test-vault.ts'

/** One statement of somebody who can write storage but holds none of its keys; answers how many rows it changed. */
export const tamper = (vault: TestVault, sql: string, ...values: SQLInputValue[]): number => {
  assert.equal(vault.engine.name, 'sqlite', 'this test cannot write into this engine yet')
  const database = new DatabaseSync(join(vault.folder.path, 'vault.db'))
  try {
    const changed = Number(database.prepare(sql).run(...values).changes)
    // What the vault remembers of its grants is forgotten, so that the next request reads the rows again.
    database.exec('UPDATE grants_epoch SET epoch = epoch + 1')
    return changed
  } finally {
    database.close()
  }
}
