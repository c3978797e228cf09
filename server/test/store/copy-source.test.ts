import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { CopyRefusedError } from '../../src/store/copying.ts'
import { openCopySource } from '../../src/store/sqlite/copy-source.ts'
import { tableNamed } from '../../src/store/tables.ts'
import { sqlite } from '../rig/engines.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

describe('a vault at rest (sqlite)', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let path: string
  beforeEach(async () => {
    folder = temporaryFolder()
    path = join(folder.path, 'vault.db')
    await (await sqlite.open(folder.path)).close()
  })
  afterEach(() => folder.remove())

  const identity = (): string => {
    const vault = openCopySource(path)
    vault.close()
    return vault.identity
  }
  const change = (sql: string) => sqlite.reach(folder.path, sql)

  test('is locked to others while it is held, and cannot be held while anybody has it open (C35)', async () => {
    const vault = openCopySource(path)
    const other = new DatabaseSync(path, { timeout: 0 })
    assert.throws(() => other.exec('SELECT * FROM tenants'), /locked/)
    vault.close()
    other.exec('SELECT * FROM tenants')
    assert.throws(() => openCopySource(path), CopyRefusedError)
    other.close()
    openCopySource(path).close()
  })

  test('gets another identity with each write, and only then (C35)', async () => {
    const before = identity()
    await change('SELECT * FROM tenants')
    await (await sqlite.open(folder.path)).close()
    assert.equal(identity(), before)
    await change('UPDATE grants_epoch SET epoch = epoch + 1')
    assert.notEqual(identity(), before)
  })

  test('includes what a killed process left in the log (C35)', () => {
    const killed = new DatabaseSync(path)
    killed.exec('PRAGMA journal_mode = WAL; INSERT INTO dead_tenants VALUES (5)')
    const left = temporaryFolder()
    cpSync(folder.path, left.path, { recursive: true })
    killed.close()
    const vault = openCopySource(join(left.path, 'vault.db'))
    assert.deepEqual([...vault.pages(tableNamed('dead_tenants'), 0, 10)], [[[5n]]])
    vault.close()
    left.remove()
  })

  test('gives pages that are bounded in rows and bytes and start where they are asked to (C35)', async () => {
    await change(`INSERT INTO results WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
      SELECT 1, CAST(printf('%02d', i) AS BLOB), i, zeroblob(CASE WHEN i > 10 THEN 3000000 ELSE 1 END) FROM n`)
    const vault = openCopySource(path)
    const results = tableNamed('results')
    const pages = (skip: number) => [...vault.pages(results, skip, 4)]
    assert.deepEqual(
      pages(0).map(page => page.length),
      [4, 4, 4, 3, 3, 2],
    )
    assert.deepEqual(
      pages(19).map(page => page.map(([, , expiresAt]) => expiresAt)),
      [[20n]],
    )
    assert.equal(vault.count(results), 20)
    vault.close()
  })

  test('counts the numbers of deleted tenants as used (C35)', async () => {
    await change("INSERT INTO tenants (tenant, tenant_id, revision, sealed) VALUES (7, 'x', 1, x'00')")
    await change('DELETE FROM tenants')
    const vault = openCopySource(path)
    assert.equal(vault.lastTenant(), 7)
    vault.close()
  })

  test('counts the numbers of tenants of which only the log is left as used (L7, C35)', async () => {
    await change("INSERT INTO log_owners VALUES (9, 'x')")
    const vault = openCopySource(path)
    assert.equal(vault.lastTenant(), 9)
    vault.close()
  })

  for (const [what, table, ...plant] of [
    [
      'a text with a NUL in it',
      'tokens',
      "INSERT INTO tokens VALUES (1, 'a' || char(27, 0), 'token', 1, 1, 'x', NULL, NULL, NULL, NULL, 1, x'00')",
    ],
    [
      'a key whose bytes are gone',
      'tenant_keys',
      "INSERT INTO tenant_keys VALUES (1, 'data' || char(27), 1, 999)",
    ],
  ] as const)
    test(`is not copied with ${what}, and what says so does not reach into the terminal (C35)`, async () => {
      for (const sql of plant) await change(sql)
      const vault = openCopySource(path)
      assert.throws(
        () => [...vault.pages(tableNamed(table), 0, 9)],
        (error: Error) => error instanceof CopyRefusedError && !error.message.includes('\u001b'),
      )
      vault.close()
    })
})
