import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailableError } from '../port.ts'
import type { Conflict, CounterMove, Outcome, WriteSet } from '../write-set.ts'
import { changeApplier } from './apply-change.ts'
import { counterMover } from './counter-mover.ts'

type Waiting = { set: WriteSet; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }

/** Bounds how long one transaction can hold the event loop; a set is never split. */
const changesPerBatch = 4_000

/**
 * Group commit. Sets that arrive while the event loop handles one round of I/O commit as one transaction
 * and share its fsync; their promises resolve after COMMIT has returned, never before.
 */
export class SqliteWriter {
  readonly #database: DatabaseSync
  readonly #apply: ReturnType<typeof changeApplier>
  readonly #move: ReturnType<typeof counterMover>
  readonly #tenantLives: (tenant: number) => boolean
  #queue: Waiting[] = []
  #scheduled = false

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#apply = changeApplier(database)
    this.#move = counterMover(database)
    const tenantLives = database.prepare('SELECT 1 FROM tenants WHERE tenant = ?')
    this.#tenantLives = tenant => tenantLives.get(tenant) !== undefined
  }

  commit(set: WriteSet): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ set, resolve, reject })
      if (this.#scheduled) return
      this.#scheduled = true
      setImmediate(() => this.#flush())
    })
  }

  /** Commits what is waiting now. */
  #flush(): void {
    this.#scheduled = false
    while (this.#queue.length > 0) this.#commitTogether(this.#takeBatch())
  }

  /** Commits everything that waits; for a clean shutdown. */
  drain(): void {
    this.#flush()
  }

  #takeBatch(): Waiting[] {
    let changes = 0
    let count = 0
    while (count < this.#queue.length && (count === 0 || changes < changesPerBatch)) {
      const next = this.#queue[count]?.set
      changes += (next?.guarded.length ?? 0) + (next?.effects.length ?? 0)
      count++
    }
    return this.#queue.splice(0, count)
  }

  #commitTogether(batch: Waiting[]): void {
    let outcomes: Outcome[]
    try {
      outcomes = this.#transaction(batch.map(waiting => waiting.set))
    } catch (error) {
      // A statement or the commit itself failed. Alone, each set shows whether the failure is its own.
      if (batch.length > 1) for (const waiting of batch) this.#commitTogether([waiting])
      else batch[0]?.reject(new StoreUnavailableError('the write was not stored', { cause: error }))
      return
    }
    batch.forEach((waiting, position) => {
      waiting.resolve(outcomes[position] ?? { committed: false, conflict: 'tenantGone' })
    })
  }

  #transaction(sets: readonly WriteSet[]): Outcome[] {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      const living = new Map<number, boolean>()
      const counters = new CounterSums()
      const outcomes = sets.map((set): Outcome => {
        let lives = living.get(set.tenant)
        if (lives === undefined) {
          lives = this.#tenantLives(set.tenant)
          living.set(set.tenant, lives)
        }
        const conflict = lives ? this.#applySet(set) : 'tenantGone'
        if (conflict !== undefined) return { committed: false, conflict }
        for (const move of set.counters) counters.add(set.tenant, move)
        // What follows in this very batch must find the tenant gone (C27).
        if (set.effects.some(({ kind }) => kind === 'deleteTenant')) living.delete(set.tenant)
        return { committed: true }
      })
      counters.forEach(this.#move)
      this.#database.exec('COMMIT')
      return outcomes
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  #applySet({ tenant, guarded, effects }: WriteSet): Conflict | undefined {
    // A single condition that fails has written nothing; several need a place to fall back to.
    const needsSavepoint = guarded.length > 1
    if (needsSavepoint) this.#database.exec('SAVEPOINT one_set')
    for (const change of guarded) {
      const conflict = this.#apply.guarded(tenant, change)
      if (conflict === undefined) continue
      if (needsSavepoint) this.#database.exec('ROLLBACK TO one_set; RELEASE one_set')
      return conflict
    }
    for (const effect of effects) this.#apply.effect(tenant, effect)
    if (needsSavepoint) this.#database.exec('RELEASE one_set')
    return undefined
  }
}

/** Counter moves of a whole batch, summed: a thousand creates of one tenant move its counter once. */
class CounterSums {
  readonly #sums = new Map<number, Map<string, { name: string; by: number; at?: number }>>()

  add(tenant: number, { name, by, at }: CounterMove): void {
    let ofTenant = this.#sums.get(tenant)
    if (ofTenant === undefined) {
      ofTenant = new Map()
      this.#sums.set(tenant, ofTenant)
    }
    let sum = ofTenant.get(name)
    if (sum === undefined) {
      sum = { name, by: 0 }
      ofTenant.set(name, sum)
    }
    sum.by += by
    if (at !== undefined) sum.at = Math.max(sum.at ?? at, at)
  }

  forEach(move: (tenant: number, move: CounterMove) => void): void {
    for (const [tenant, sums] of this.#sums) for (const sum of sums.values()) move(tenant, sum)
  }
}
