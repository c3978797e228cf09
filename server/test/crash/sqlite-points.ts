import { DatabaseSync, StatementSync } from 'node:sqlite'
import { BatchWriter } from '../../src/store/sqlite/writing/batch-writer.ts'
import type { Point } from './kill-order.ts'

/** Reports each point that the embedded engine passes, just before it goes on. */
export const watchSqlite = (reached: (point: Point) => void): void => {
  let isBatch = false
  let isMigration = false
  let hasLease = false

  const { commit } = BatchWriter.prototype
  BatchWriter.prototype.commit = function (sets) {
    isBatch = true
    try {
      return commit.call(this, sets)
    } finally {
      isBatch = false
    }
  }

  const beforeCommit = (): void => {
    if (isBatch) {
      reached('before-commit')
      reached('in-commit')
    }
    if (hasLease) reached('in-sweeper')
  }

  const { run } = StatementSync.prototype
  StatementSync.prototype.run = function (...values: unknown[]) {
    const commits = this.sourceSQL === 'COMMIT'
    if (commits) beforeCommit()
    else if (isBatch && this.sourceSQL !== 'BEGIN IMMEDIATE') reached('in-batch')
    const outcome = run.apply(this, values as never)
    if (commits && isBatch) reached('after-commit')
    return outcome
  }

  const { exec, prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.exec = function (sql) {
    if (sql.startsWith('PRAGMA user_version =')) {
      isMigration = true
      reached('in-migration')
    }
    const commits = sql === 'COMMIT'
    if (commits) beforeCommit()
    exec.call(this, sql)
    if (commits && isMigration) {
      isMigration = false
      reached('in-migration')
    }
  }
  DatabaseSync.prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql)
    // A node takes the lease before it sweeps.
    if (sql.includes('INTO leases')) hasLease = true
    if (sql.includes('wal_checkpoint')) {
      const { get } = statement
      statement.get = () => {
        reached('in-checkpoint')
        return get.call(statement, {})
      }
    }
    return statement
  }
}
