import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestVault } from './test-vault.ts'

export type StoredRow = Record<string, unknown>

/** The rows of a table as storage holds them, for tests that assert what is there and what is gone. */
export const storedRows = (vault: TestVault, table: string): StoredRow[] => {
  assert.equal(vault.engine.name, 'sqlite', 'this test cannot look into this engine yet')
  const database = new DatabaseSync(join(vault.folder.path, 'vault.db'), { readOnly: true })
  try {
    return database.prepare(`SELECT * FROM ${table}`).all()
  } finally {
    database.close()
  }
}
