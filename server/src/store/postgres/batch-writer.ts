import { foreignCode } from '../../domain/foreign-code.ts'
import { placeOf } from '../../domain/log.ts'
import type { BatchResult } from '../commit-queue.ts'
import { changesGrants, isConflict, type LogPart, type WriteSet } from '../write-set.ts'
import type { Statement } from './connection.ts'
import {
  conditionFailed,
  isOwnFault,
  isWorthRepeating,
  transactionAborted,
  waitedTooLong,
} from './failures.ts'
import { sealedLog, UnsealedError } from './log-parameters.ts'
import { mergeChanges, type PackedChanges, packSet, toParameters } from './packed-changes.ts'
import type { Sends } from './shard-writing.ts'

type Packed = {
  readonly tenant: number
  readonly changes: PackedChanges
  readonly log: LogPart | null
  /** A batch with such a set is applied set by set, so that later sets find its changes. */
  readonly changesGrants: boolean
}

/** How often a batch is tried again after PostgreSQL gave it up in favour of another transaction. */
const attemptsMax = 8

/** How long a set waits for a locked row after its batch has already waited for the statement timeout. */
const briefWait: Statement = { text: "SET LOCAL lock_timeout = '50ms'" }
/** How long the sets of such a batch are tried one by one. If the whole table is locked, each of them would wait in vain. */
const tryEachMs = 2_000

/**
 * Commits batches of write sets through one connection, each batch in one round trip. All sets of a tenant are first
 * applied as if they were one. If a condition fails that transaction ends, and the sets are applied one by one, each
 * with a savepoint.
 */
export class BatchWriter {
  readonly #connection: Sends
  /** Which of each counter's rows this writer moves, and which of each log's writers it is. */
  readonly #counterShard: number
  /** On Citus a set is applied on its shard by one call, which cannot share a transaction with others. */
  readonly #isSharded: boolean

  constructor(connection: Sends, { counterShard, isSharded }: { counterShard: number; isSharded: boolean }) {
    this.#connection = connection
    this.#counterShard = counterShard
    this.#isSharded = isSharded
  }

  /** Throws if the outcome of the batch is unknown or storage does not answer. */
  async commit(sets: readonly WriteSet[]): Promise<BatchResult[]> {
    const results: BatchResult[] = []
    const packed: (Packed & { readonly position: number })[] = []
    sets.forEach((set, position) => {
      try {
        packed.push({
          tenant: set.tenant,
          changes: packSet(set),
          log: set.log,
          changesGrants: changesGrants(set),
          position,
        })
      } catch (error) {
        // This set cannot be stored, whatever the others hold.
        results[position] = { failed: `the set cannot be packed: ${placeOf(error)}` }
      }
    })
    const outcomes = await this.#commitPacked(packed)
    packed.forEach(({ position }, index) => {
      const outcome = outcomes[index]
      if (outcome === undefined) throw new Error('a set was not answered')
      results[position] = outcome
    })
    return results
  }

  async #commitPacked(sets: readonly Packed[]): Promise<BatchResult[]> {
    if (sets.length === 0) return []
    try {
      if (sets.length > 1 && !sets.some(set => set.changesGrants)) {
        const isCommitted = await this.#commitAsOne(sets)
        if (isCommitted) return sets.map(() => ({ committed: true }))
      }
      if (sets.length > 1 && this.#isSharded) return await this.#commitApart(sets)
      return await this.#commitOneByOne(sets)
    } catch (error) {
      if (waitedTooLong(error) && sets.length > 1 && !this.#isSharded)
        return this.#commitEachBriefly(sets, error)
      if (!isOwnFault(error) && !(error instanceof UnsealedError)) throw error
      // Retried alone, each set shows whether the fault is its own.
      if (sets.length === 1) return [failure(error)]
      return this.#commitEach(sets)
    }
  }

  /** Commits each set in a transaction of its own, one after the other, as long as storage answers. */
  async #commitEach(sets: readonly Packed[]): Promise<BatchResult[]> {
    const results: BatchResult[] = []
    try {
      for (const set of sets) for (const result of await this.#commitPacked([set])) results.push(result)
    } catch (error) {
      // The sets before this one must still get their answers.
      while (results.length < sets.length) results.push(failure(error))
    }
    return results
  }

  /** Commits each set in a transaction of its own, still in one round trip. */
  async #commitApart(sets: readonly Packed[]): Promise<BatchResult[]> {
    const results = await Promise.allSettled(sets.map(set => this.#commitPacked([set])))
    return results.flatMap(result =>
      result.status === 'fulfilled' ? result.value : [failure(result.reason)],
    )
  }

  /** Another session has locked a row that some set needs. The other sets are committed without it. */
  async #commitEachBriefly(sets: readonly Packed[], reason: unknown): Promise<BatchResult[]> {
    const end = performance.now() + tryEachMs
    const results: BatchResult[] = []
    for (const set of sets)
      results.push(performance.now() < end ? await this.#commitBriefly(set) : failure(reason))
    return results
  }

  /** Throws nothing, not even if the connection is lost: the sets before this one must still get their answers. */
  async #commitBriefly(set: Packed): Promise<BatchResult> {
    try {
      const [result = failure(undefined)] = await this.#commitOneByOne([set], briefWait)
      return result
    } catch (error) {
      return failure(error)
    }
  }

  /** False if a condition failed and nothing was written. */
  async #commitAsOne(sets: readonly Packed[]): Promise<boolean> {
    const byTenant = Map.groupBy(sets, ({ tenant }) => tenant)
    const statements = [...byTenant]
      .sort(([a], [b]) => a - b)
      .map(([tenant, ofTenant]) =>
        this.#apply('apply_or_abort', tenant, mergeChanges(ofTenant.map(({ changes }) => changes)), ofTenant),
      )
    try {
      await this.#transaction(statements)
      return true
    } catch (error) {
      if (foreignCode(error) === conditionFailed) return false
      throw error
    }
  }

  async #commitOneByOne(sets: readonly Packed[], wait?: typeof briefWait): Promise<BatchResult[]> {
    const answers = await this.#transaction(
      sets.map(set =>
        this.#apply(set.changesGrants ? 'revise_or_undo' : 'apply_or_undo', set.tenant, set.changes, [set]),
      ),
      wait,
    )
    return answers.map(conflict => {
      if (conflict === null) return { committed: true }
      if (isConflict(conflict)) return { committed: false, conflict }
      throw new Error('the answer to a set is not known here')
    })
  }

  #apply(
    name: 'apply_or_abort' | 'apply_or_undo' | 'revise_or_undo',
    tenant: number,
    changes: PackedChanges,
    logged: readonly Packed[],
  ): Statement {
    return {
      name,
      text: `SELECT ${name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      values: [
        tenant,
        this.#counterShard,
        ...toParameters(changes),
        ...sealedLog(logged.map(({ log }) => log)),
      ],
      rowMode: 'array',
    }
  }

  /** Runs all statements in one transaction and one round trip. Returns the single value of each. */
  async #transaction(statements: readonly Statement[], wait?: typeof briefWait): Promise<unknown[]> {
    const sent =
      statements.length === 1 && wait === undefined
        ? statements
        : [{ text: 'BEGIN' }, ...(wait ? [wait] : []), ...statements, { text: 'COMMIT' }]
    for (let attempt = 1; ; attempt++) {
      const answers = await this.#connection.send<unknown[]>(sent)
      const failure = answers
        .filter(answer => answer.status === 'rejected')
        .map(({ reason }) => reason)
        .find(reason => foreignCode(reason) !== transactionAborted)
      if (failure === undefined)
        return answers
          .map(answer => (answer.status === 'fulfilled' ? answer.value : undefined))
          .filter(answer => answer?.command === 'SELECT')
          .map(answer => answer?.rows[0]?.[0])
      if (!isWorthRepeating(failure) || attempt === attemptsMax || (wait && waitedTooLong(failure)))
        throw failure
    }
  }
}

/** The server's message may quote submitted values; its code does not. */
const failure = (error: unknown): BatchResult => ({
  failed:
    error instanceof UnsealedError
      ? `the log cannot be sealed: ${placeOf(error.cause)}`
      : `PostgreSQL ${foreignCode(error)}`.trimEnd(),
})
