import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { openDatabase } from '../../src/store/sqlite/open-database.ts'
import { checkpointing } from '../../src/store/sqlite/writing/checkpoints.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

test('checkpoints between commits keep the log small (C27.1)', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'some.db')
  const database = openDatabase(path, 0, { isWriter: true })
  const checkpointIfDue = checkpointing(database)
  database.exec('CREATE TABLE rows (content)')
  const insert = database.prepare('INSERT INTO rows VALUES (zeroblob(1000))')
  let written = 0
  for (let commits = 0; commits < 40; commits++) {
    database.exec('BEGIN')
    for (let rows = 0; rows < 250; rows++) insert.run()
    database.exec('COMMIT')
    checkpointIfDue()
    written += 250_000
  }
  assert.ok(statSync(`${path}-wal`).size < written / 4)
  database.close()
  folder.remove()
})

test('a checkpoint that fails takes nothing back that was committed (C27.1)', t => {
  const folder = temporaryFolder()
  const database = openDatabase(join(folder.path, 'some.db'), 0, { isWriter: true })
  const checkpointIfDue = checkpointing(database)
  database.exec('CREATE TABLE rows (content)')
  const insert = database.prepare('INSERT INTO rows VALUES (1)')
  for (let rows = 0; rows < 1_000; rows++) insert.run()
  const { get } = StatementSync.prototype
  let failed = 0
  t.mock.method(
    StatementSync.prototype,
    'get',
    function (this: StatementSync, ...input: Parameters<typeof get>) {
      if (!this.sourceSQL.includes('wal_checkpoint')) return get.apply(this, input)
      failed++
      throw new Error('disk I/O error')
    },
  )
  checkpointIfDue()
  assert.equal(failed, 1)
  database.close()
  folder.remove()
})
