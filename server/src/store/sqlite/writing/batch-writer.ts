import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Histogram } from '../../../telemetry/meters.ts'
import { writerMeters } from '../../../telemetry/telemetry.ts'
import type { BatchResult } from '../../commit-queue.ts'
import {
  type Conflict,
  CounterSums,
  changesContent,
  type Effect,
  type GuardedChange,
  type Outcome,
  type WriteSet,
} from '../../write-set.ts'
import { engineReason } from '../engine-reason.ts'
import { storageGuard } from '../own-storage.ts'
import type { PlacesOfPart, TenantTerms } from '../waiting-entries.ts'
import type { Effects, Guards } from './changes/appliers.ts'
import { deliveryEffects } from './changes/delivery-changes.ts'
import { grantEffects, tenantGuards } from './changes/tenant-changes.ts'
import { tokenEffects, tokenGuards } from './changes/token-changes.ts'
import { LogWrites } from './log-writes.ts'
import type { SealedSet } from './sealed-sets.ts'
import { counterMover } from './shared-statements.ts'
import { WaitingWrites, waitingDefault } from './waiting-writes.ts'

/** One object for all sets, so that an answer to another thread serializes it once. */
const committed: Outcome = { committed: true }

/** A condition failed after earlier changes of its set had been written. */
class HalfWrittenError extends Error {}

/** Commits batches of write sets, each batch as one transaction. Knows nothing of queues and threads. */
export class BatchWriter {
  readonly #database: DatabaseSync
  // Prepared, because `exec` would parse and authorize them each time (open-database.ts).
  readonly #begin: StatementSync
  readonly #end: StatementSync
  readonly #apply: ApplyChanges
  readonly #move: ReturnType<typeof counterMover>
  readonly #waiting: WaitingWrites
  readonly #log: LogWrites
  readonly #tenantLives: (tenant: number) => boolean
  readonly #requireOwnStorage: () => void
  readonly #meters: Readonly<Record<'sets' | 'duration' | 'sync', Histogram>>

  constructor(database: DatabaseSync, waitingMax = waitingDefault, meters = writerMeters()) {
    this.#database = database
    this.#meters = {
      sets: meters.histogram('sets'),
      duration: meters.histogram('duration'),
      sync: meters.histogram('sync'),
    }
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#end = database.prepare('COMMIT')
    this.#waiting = new WaitingWrites(database, waitingMax)
    this.#apply = changeApplier(database, this.#waiting)
    this.#move = counterMover(database)
    this.#log = new LogWrites(database)
    this.#requireOwnStorage = storageGuard(database)
    const tenantLives = database.prepare('SELECT 1 FROM tenants WHERE tenant = ?')
    tenantLives.setReturnArrays(true)
    this.#tenantLives = tenant => tenantLives.get(tenant) !== undefined
  }

  /** Returns after COMMIT has returned. */
  commit(sets: readonly SealedSet[]): BatchResult[] {
    return this.#commit(sets, false)
  }

  /** Moves the waiting entries of these terms into the index. */
  settle(some: TenantTerms): void {
    this.#settle(waiting => waiting.settle(some))
  }

  /** Moves some waiting entries in a short transaction; returns how many. */
  settleSome(): number {
    return this.#settle(waiting => waiting.settleSome())
  }

  #settle(settle: (waiting: WaitingWrites) => readonly PlacesOfPart[]): number {
    this.#begin.run()
    try {
      this.#requireOwnStorage()
      this.#waiting.begin()
      const moved = settle(this.#waiting)
      this.#end.run()
      this.#waiting.forget(moved)
      return moved.reduce((count, { places }) => count + places.length, 0)
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  /**
   * A set that fails half way needs a savepoint to fall back to, but savepoints cost every set of a batch, and such
   * sets are rare. So a batch is first tried without them, and started again with them if one turns out to be needed.
   */
  #commit(sets: readonly SealedSet[], hasSavepoints: boolean): BatchResult[] {
    try {
      this.#begin.run()
    } catch (error) {
      // Storage is locked or gone, so no set is at fault. One wait for the lock is enough for all of them.
      const failed = engineReason(error)
      return sets.map(() => ({ failed }))
    }
    try {
      return this.#applyAndCommit(sets, hasSavepoints)
    } catch (error) {
      if (error instanceof HalfWrittenError) return this.#commit(sets, true)
      // A statement or the commit itself failed. Retried alone, each set shows whether the failure is its own.
      return sets.length === 1
        ? [{ failed: engineReason(error) }]
        : sets.flatMap(set => this.#commit([set], hasSavepoints))
    }
  }

  #applyAndCommit(sets: readonly SealedSet[], hasSavepoints: boolean): Outcome[] {
    const begunAt = performance.now()
    try {
      this.#requireOwnStorage()
      this.#waiting.begin()
      this.#log.begin()
      const living = new Map<number, boolean>()
      const counters = new Map<number, CounterSums>()
      const outcomes = sets.map((set): Outcome => {
        // A tenant may be deleted between an answer and its record. The log's operator is none and never lives.
        if (set.log !== null && !changesContent(set)) {
          this.#log.add(set.tenant, set.log)
          return committed
        }
        let lives = living.get(set.tenant)
        if (lives === undefined) {
          lives = this.#tenantLives(set.tenant)
          living.set(set.tenant, lives)
        }
        const conflict = lives ? this.#applySet(set, hasSavepoints) : 'tenantGone'
        if (conflict !== undefined) return { committed: false, conflict }
        const sums = counters.get(set.tenant) ?? new CounterSums()
        counters.set(set.tenant, sums)
        for (const move of set.counters) sums.add(move)
        if (set.log !== null) this.#log.add(set.tenant, set.log)
        // Later sets of the same batch must find the tenant gone (C27).
        if (set.effects.some(({ kind }) => kind === 'deleteTenant')) living.delete(set.tenant)
        return committed
      })
      for (const [tenant, { moves }] of counters) for (const move of moves) this.#move(tenant, move)
      this.#log.append()
      this.#waiting.moveSome()
      const endsAt = performance.now()
      this.#end.run()
      const endedAt = performance.now()
      this.#meters.sets.observe(sets.length)
      this.#meters.sync.observeMs(endedAt - endsAt)
      this.#meters.duration.observeMs(endedAt - begunAt)
      this.#waiting.committed()
      return outcomes
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }

  #applySet({ tenant, guarded, effects }: SealedSet, hasSavepoints: boolean): Conflict | undefined {
    if (hasSavepoints) this.#database.exec('SAVEPOINT one_set')
    for (const [position, change] of guarded.entries()) {
      const conflict = this.#apply.guarded(tenant, change)
      if (conflict === undefined) continue
      if (hasSavepoints) this.#database.exec('ROLLBACK TO one_set; RELEASE one_set')
      else if (position > 0) throw new HalfWrittenError()
      return conflict
    }
    const isNew = newTokens(guarded)
    for (const effect of effects) this.#apply.effect(tenant, effect, isNew)
    if (hasSavepoints) this.#database.exec('RELEASE one_set')
    return undefined
  }
}

/** Up to this many changes, a search is faster than a set of ids, which would cost a create 2 µs. */
const fewChanges = 8

/** Tells whether the set inserts a token. */
const newTokens = (guarded: WriteSet['guarded']): ((id: string) => boolean) => {
  if (guarded.length <= fewChanges)
    return id => guarded.some(change => change.kind === 'insertToken' && change.row.id === id)
  const ids = new Set<string>()
  for (const change of guarded) if (change.kind === 'insertToken') ids.add(change.row.id)
  return id => ids.has(id)
}

type ApplyChanges = {
  guarded(tenant: number, change: GuardedChange): Conflict | undefined
  /** `isNew` tells whether the same set has inserted a token. */
  effect(tenant: number, effect: Effect, isNew: (tokenId: string) => boolean): void
}

/** Holds the prepared statements for every kind of change. */
const changeApplier = (database: DatabaseSync, waiting: WaitingWrites): ApplyChanges => {
  const guards: Guards<GuardedChange['kind']> = { ...tokenGuards(database), ...tenantGuards(database) }
  const effects: Effects<Effect['kind']> = {
    ...tokenEffects(database, waiting),
    ...grantEffects(database),
    ...deliveryEffects(database),
  }

  // The types ensure that both tables are complete. Only the link between a kind and its change is lost in the look-up.
  return {
    guarded: (tenant, change) =>
      (guards[change.kind] as (tenant: number, change: GuardedChange) => Conflict | undefined)(
        tenant,
        change,
      ),
    effect: (tenant, effect, isNew) =>
      (effects[effect.kind] as ApplyChanges['effect'])(tenant, effect, isNew),
  }
}
