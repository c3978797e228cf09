import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestVault } from './test-vault.ts'

export type StoredRow = Record<string, unknown>

/** The rows of a table as storage holds them, for tests that assert what is there and what is gone. */
export const storedRows = (vault: TestVault, table: string): StoredRow[] =>
  inside(vault, { readOnly: true }, database => database.prepare(`SELECT * FROM ${table}`).all())

/** Changes the sealed part of these tokens behind the vault's back, so that they do not open. */
export const spoilTokens = (vault: TestVault, ids: readonly string[]): void =>
  inside(vault, { readOnly: false }, database => {
    const spoil = database.prepare(`UPDATE tokens SET sealed = x'00' WHERE token_id = ?`)
    for (const id of ids) spoil.run(id)
  })

const inside = <T>(
  vault: TestVault,
  options: { readOnly: boolean },
  work: (database: DatabaseSync) => T,
): T => {
  assert.equal(vault.engine.name, 'sqlite', 'this test cannot look into this engine yet')
  const database = new DatabaseSync(join(vault.folder.path, 'vault.db'), { ...options, timeout: 5_000 })
  try {
    return work(database)
  } finally {
    database.close()
  }
}
