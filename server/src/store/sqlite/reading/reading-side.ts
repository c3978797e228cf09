import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { TamperedError } from '../../../domain/tampered-error.ts'
import { type Columns, tokenRow } from '../../columns.ts'
import { StoreUnavailableError } from '../../port.ts'
import type { Reading } from '../../sql/dialect.ts'
import { engineReason } from '../engine-reason.ts'
import { statementCache } from '../statement-cache.ts'

/** The connection that reads. Reads are synchronous here; their results are handed out as promises. */
export type ReadingSide = Reading & {
  readonly database: DatabaseSync
  readonly snapshot: SharedSnapshot
  readonly prepared: (sql: string) => ReadStatement
  readonly read: <T>(query: () => T | Promise<T>) => Promise<T>
  /** Runs several statements on one state of storage: the writing connection may commit at any time. */
  readonly atOneMoment: <T>(queries: () => T) => T
  readonly readAtOneMoment: <T>(queries: () => T) => Promise<T>
}

export const readingSide = (database: DatabaseSync): ReadingSide => {
  const snapshot = sharedSnapshot(database)
  const prepared = statementCache(sql => new ReadStatement(database, sql))

  const read = async <T>(query: () => T | Promise<T>): Promise<T> => {
    try {
      snapshot.join()
      return await query()
    } catch (error) {
      throw unreadable(error)
    }
  }

  const atOneMoment = <T>(queries: () => T): T => {
    if (database.isTransaction) return queries()
    database.exec('BEGIN')
    try {
      return queries()
    } finally {
      if (database.isTransaction) database.exec('ROLLBACK')
    }
  }

  return {
    database,
    snapshot,
    prepared,
    read,
    atOneMoment,
    readAtOneMoment: queries => read(() => atOneMoment(queries)),
    rows: (sql, values, toRow) =>
      read(() =>
        prepared(sql)
          .all(...values)
          .map(toRow),
      ),
    row: (sql, values, toRow) =>
      read(() => {
        const row = prepared(sql).get(...values)
        return row && toRow(row)
      }),
    tokens: (sql, values) =>
      read(() =>
        prepared(sql)
          .arrays(...values)
          .map(tokenRow),
      ),
  }
}

/** Callers learn that storage is unavailable, but not what the driver said. A TamperedError passes unchanged. */
export const unreadable = (cause: unknown): StoreUnavailableError | TamperedError =>
  cause instanceof TamperedError
    ? cause
    : new StoreUnavailableError('storage cannot be read', { cause, outage: engineReason(cause) })

/**
 * Reads that follow each other without a pause see one state of storage: beginning and ending a transaction for each
 * read costs as much as finding its row.
 */
export type SharedSnapshot = {
  /** Call before each read. */
  join(): void
  /** After this, reads see everything that was committed. */
  end(): void
}

/**
 * A snapshot never outlives the event in which it began, so a request that arrives later, or an operation that is told
 * of its commit, reads a newer state. A read on its own opens no transaction.
 */
export const sharedSnapshot = (database: DatabaseSync): SharedSnapshot => {
  // Prepared, because `exec` would parse them each time, for 1 µs.
  const [begin, rollback] = [database.prepare('BEGIN'), database.prepare('ROLLBACK')]
  let reads = 0
  const end = (): void => {
    const mayBeOpen = reads > 1
    reads = 0
    if (!mayBeOpen || !database.isOpen || !database.isTransaction) return
    try {
      rollback.get()
    } catch {
      // Nothing was written, so nothing is lost. If storage has failed, the next read reports it.
    }
  }
  return {
    join: () => {
      reads++
      if (reads === 1) process.nextTick(end)
      else if (reads === 2) begin.get()
    },
    end,
  }
}

/**
 * A statement whose rows are read as arrays. An object per row takes another microsecond, and each leaves a 72-byte hidden class that
 * only a major garbage collection frees.
 */
export class ReadStatement {
  readonly #statement: StatementSync
  readonly #names: readonly string[]

  constructor(database: DatabaseSync, sql: string) {
    this.#statement = database.prepare(sql)
    this.#statement.setReturnArrays(true)
    this.#names = this.#statement.columns().map(({ name }) => name)
  }

  arrays(...values: readonly SQLInputValue[]): SQLOutputValue[][] {
    return this.#withAnyInteger(() => this.#statement.all(...values) as unknown as SQLOutputValue[][])
  }

  /** The first row. */
  array(...values: readonly SQLInputValue[]): SQLOutputValue[] | undefined {
    return this.#withAnyInteger(
      () => this.#statement.get(...values) as unknown as SQLOutputValue[] | undefined,
    )
  }

  all(...values: readonly SQLInputValue[]): Columns[] {
    return this.arrays(...values).map(row => this.#named(row))
  }

  /** The first row. */
  get(...values: readonly SQLInputValue[]): Columns | undefined {
    const row = this.array(...values)
    return row && this.#named(row)
  }

  #named(row: SQLOutputValue[]): Columns {
    const columns: Record<string, SQLOutputValue | undefined> = {}
    this.#names.forEach((name, at) => {
      columns[name] = row[at]
    })
    return columns
  }

  /**
   * A read fails if storage does, or if a row holds an integer too large for a double, which the vault never writes. Such a row can be
   * read with bigints, which take 1 µs longer.
   */
  #withAnyInteger<T>(read: () => T): T {
    try {
      return read()
    } catch {
      this.#statement.setReadBigInts(true)
      try {
        return read()
      } finally {
        this.#statement.setReadBigInts(false)
      }
    }
  }
}
