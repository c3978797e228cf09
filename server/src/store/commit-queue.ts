import { type CommitMeters, Telemetry } from '../telemetry/telemetry.ts'
import { FairQueue } from './fair-queue.ts'
import { StoreOverloadedError, StoreUnavailableError } from './port.ts'
import { type Outcome, type WriteSet, weightOf } from './write-set.ts'

/** The outcome of one set, or the engine's reason in constant words if storage could not take it. */
export type BatchResult = Outcome | { readonly failed: string }

/** Commits sets together. `position` says which of the batches in flight this is. */
export type CommitBatch = (sets: readonly WriteSet[], position: number) => Promise<readonly BatchResult[]>

type QueuedSet = {
  readonly set: WriteSet
  readonly isHeavy: boolean
  readonly since: number
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: Error) => void
  isTaken: boolean
}

/** The most that one transaction holds: 10 to 20 ms of the writing thread. A set is never split. */
export const batchWeight = 1_000

/** The most that may wait: one to two seconds of work. */
const waitingWeight = 100_000

/** Resolves once all code that runs without a pause has run, such as other requests of the same slice. */
const tickEnds = (): Promise<void> => new Promise(resolve => process.nextTick(resolve))

/**
 * Group commit. Sets are committed together, and share one fsync, if they arrive without a pause between them, or while no
 * further batch may be in flight. Their promises resolve after the commit, never before. If more is waiting than one commit
 * holds, tenants take turns (fair-queue.ts).
 */
export class CommitQueue {
  readonly #commit: CommitBatch
  /** The batches in flight. */
  readonly #batches: (Promise<void> | undefined)[]
  readonly #oneTenant: boolean
  readonly #meters: ReturnType<typeof queueMeters>
  readonly #waiting = new FairQueue<QueuedSet>()
  #waitingSets = 0
  /** Whether a batch in flight holds a set larger than a batch. At most one does, so that others can follow. */
  #hasHeavyBatch = false

  /** With `oneTenant`, a batch holds sets of a single tenant, so a sharded database commits it on one shard. */
  constructor(
    commit: CommitBatch,
    {
      inFlightMax = 1,
      oneTenant = false,
      meters = new Telemetry().commits,
    }: { inFlightMax?: number; oneTenant?: boolean; meters?: CommitMeters | undefined } = {},
  ) {
    this.#commit = commit
    this.#meters = queueMeters(meters)
    this.#meters.waiting.set(0)
    this.#batches = Array.from({ length: inFlightMax }, () => undefined)
    this.#oneTenant = oneTenant
  }

  /**
   * Refuses a set if its tenant already has as much waiting as there is room left. A tenant may always have one batch waiting. So one
   * tenant's backlog takes up at most half of the room, and other tenants still get in.
   */
  add(set: WriteSet): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const weight = weightOf(set)
      const own = this.#waiting.weightOf(set.tenant)
      if (own > 0 && own + weight > Math.max(batchWeight, waitingWeight - this.#waiting.weight))
        throw this.#refusal()
      const isHeavy = weight > batchWeight
      const queued = { set, isHeavy, since: performance.now(), resolve, reject, isTaken: false }
      this.#waiting.add(set.tenant, queued, weight)
      this.#meters.waiting.set(++this.#waitingSets)
      const idle = this.#batches.indexOf(undefined)
      if (idle >= 0) void this.#run(idle)
    })
  }

  /** Resolves once all sets added so far are answered. It does not wait for sets that are added later. */
  async drain(): Promise<void> {
    const lasts = this.#waiting.lasts()
    while (lasts.some(({ isTaken }) => !isTaken)) await Promise.race(this.#underWay())
    await Promise.all(this.#underWay())
  }

  #underWay(): Promise<void>[] {
    return this.#batches.filter(batch => batch !== undefined)
  }

  async #run(position: number): Promise<void> {
    do {
      this.#batches[position] = this.#commitNext(position)
      await this.#batches[position]
    } while (this.#waiting.has(batchWeight, { onlyLight: this.#hasHeavyBatch }))
    this.#batches[position] = undefined
  }

  async #commitNext(position: number): Promise<void> {
    // If the first set left alone, the sets right behind it would need another fsync. If it waited for a whole iteration of the
    // event loop, writer and requests would alternate: a fifth fewer creates.
    await tickEnds()
    const batch = this.#waiting.take(batchWeight, {
      oneTenant: this.#oneTenant,
      onlyLight: this.#hasHeavyBatch,
    })
    if (batch.length === 0) return
    const isHeavy = batch.some(queued => queued.isHeavy)
    const sentAt = performance.now()
    for (const queued of batch) {
      queued.isTaken = true
      this.#meters.wait.observeMs(sentAt - queued.since)
    }
    this.#waitingSets -= batch.length
    this.#meters.waiting.set(this.#waitingSets)
    this.#meters.sets.observe(batch.length)
    if (isHeavy) this.#hasHeavyBatch = true
    try {
      const results = await this.#commit(
        batch.map(({ set }) => set),
        position,
      )
      this.#meters.duration.observeMs(performance.now() - sentAt)
      for (const [index, queued] of batch.entries()) this.#answer(queued, results[index])
    } catch (error) {
      this.#meters.failed.add(batch.length)
      for (const { reject } of batch) reject(new StoreUnavailableError(notStored, { cause: error }))
    }
    if (isHeavy) this.#hasHeavyBatch = false
  }

  #answer(
    { resolve, reject }: QueuedSet,
    result: BatchResult = { failed: 'the set was not answered' },
  ): void {
    if ('failed' in result) {
      this.#meters.failed.add()
      reject(new StoreUnavailableError(notStored, { outage: result.failed }))
      return
    }
    if (!result.committed) this.#meters.conflicts.add()
    resolve(result)
  }

  #refusal(): StoreOverloadedError {
    this.#meters.refused.add()
    return new StoreOverloadedError()
  }
}

const queueMeters = (meters: CommitMeters) => ({
  sets: meters.histogram('sets'),
  duration: meters.histogram('duration'),
  wait: meters.histogram('wait'),
  waiting: meters.gauge('waiting'),
  conflicts: meters.counter('conflicts'),
  failed: meters.counter('failed'),
  refused: meters.counter('refused'),
})

const notStored = 'the write was not stored'
