import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { sqlite } from '../rig/engines.ts'
import { TestVault } from '../rig/test-vault.ts'
import { buildScene, contentOf, operations, sendOperation } from './operations.ts'

/** SQLite's error numbers for ways in which a statement can fail. */
const failures = { busy: 5, 'input or output': 10, full: 13 }

const statementsMax = 200

/** Makes the nth change of the database fail; `met` tells whether there was one. */
const failAt = (nth: number, errcode: number): { met: () => boolean; mend: () => void } => {
  const { run } = StatementSync.prototype
  const { exec } = DatabaseSync.prototype
  let changes = 0
  const count = (): void => {
    changes++
    if (changes === nth) throw Object.assign(new Error('simulated'), { code: 'ERR_SQLITE_ERROR', errcode })
  }
  StatementSync.prototype.run = function (this: StatementSync, ...input: never[]) {
    count()
    return run.apply(this, input as unknown as Parameters<typeof run>)
  }
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    // A read of several statements is a transaction on its own connection; what it begins is not counted.
    if (sql === 'BEGIN IMMEDIATE' || (sql === 'COMMIT' && changes > 0)) count()
    exec.call(this, sql)
  }
  return {
    met: () => changes >= nth,
    mend: () => {
      StatementSync.prototype.run = run
      DatabaseSync.prototype.exec = exec
    },
  }
}

describe('a database whose nth change fails (sqlite)', () => {
  let vault: TestVault
  before(async () => {
    const engine = {
      ...sqlite,
      open: async (folder: string) => openSqlite({ path: join(folder, 'vault.db'), writing: 'inline' }),
    }
    vault = await TestVault.start({ engine })
  })
  after(() => vault.stop())

  for (const operation of operations.filter(({ isWrite }) => isWrite))
    test(`${operation.name}: a failed statement leaves nothing behind, and the next try succeeds (C2.23, C23.5)`, async () => {
      const scene = await buildScene(vault)
      const before = await contentOf(scene)
      for (let nth = 1; ; nth++) {
        assert.ok(nth < statementsMax)
        for (const [name, errcode] of Object.entries(failures)) {
          // Records of earlier requests are no statements of this one.
          await vault.service.vault.acts.flush()
          const { met, mend } = failAt(nth, errcode)
          const reply = await sendOperation(scene, operation)
          mend()
          if (reply.status < 300) {
            assert.ok(!met(), `statement ${nth} failed and nobody noticed`)
            return
          }
          assert.equal(reply.status, 503, `${name} at ${nth}: ${reply.text}`)
          assert.deepEqual(await contentOf(scene), before, `${name} at ${nth}`)
        }
      }
    })
})
