import { DatabaseSync, StatementSync } from 'node:sqlite'

export type SqliteWatch = {
  /** Every database in this process that has prepared a statement since the watch began. */
  readonly databases: Set<DatabaseSync>
  readonly prepared: Set<string>
  readonly executed: string[]
  /**
   * Runs before each SQL text that is executed without being prepared, and before the statements that begin and end a batch. What
   * it throws reaches the engine.
   */
  beforeExec: (sql: string) => void
  stop(): void
}

/** Watches the engine's connections, and the SQL sent through them. */
export const watchSqlite = (): SqliteWatch => {
  const { prepare, exec } = DatabaseSync.prototype
  const { run } = StatementSync.prototype
  const note = (sql: string): void => {
    watch.beforeExec(sql)
    watch.executed.push(sql)
  }
  const watch: SqliteWatch = {
    databases: new Set(),
    prepared: new Set(),
    executed: [],
    beforeExec: () => {},
    stop: () => {
      DatabaseSync.prototype.prepare = prepare
      DatabaseSync.prototype.exec = exec
      StatementSync.prototype.run = run
    },
  }
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...input: Parameters<typeof prepare>) {
    watch.databases.add(this)
    watch.prepared.add(input[0])
    return prepare.apply(this, input)
  }
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    note(sql)
    exec.call(this, sql)
  }
  StatementSync.prototype.run = function (this: StatementSync, ...input: unknown[]) {
    if (/^(?:BEGIN IMMEDIATE|COMMIT)$/.test(this.sourceSQL)) note(this.sourceSQL)
    return run.apply(this, input as never)
  }
  return watch
}
