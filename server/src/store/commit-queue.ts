import { StoreUnavailableError } from './port.ts'
import type { Outcome, WriteSet } from './write-set.ts'

/** What became of one set: its outcome, or, if storage could not take it, the engine's reason in constant words. */
export type BatchResult = Outcome | { readonly failed: string }

/** Commits sets together. Each lane has at most one batch in flight. */
export type CommitBatch = (sets: readonly WriteSet[], lane: number) => Promise<readonly BatchResult[]>

type QueuedSet = { set: WriteSet; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }

/** These bound how long one transaction takes and how much it sends over a connection. A set is never split. */
const changesPerBatch = 4_000
const setsPerBatch = 500
const bytesPerBatch = 1 << 25

/** Resolves once everything that runs without a pause has run, such as the other requests of the same step. */
const stepEnds = (): Promise<void> => new Promise(resolve => process.nextTick(resolve))

/**
 * Group commit. Sets that arrive without a pause between them, or while every lane is busy, are committed together and
 * share one fsync. Their promises resolve after the commit, never before.
 */
export class CommitQueue {
  readonly #commit: CommitBatch
  /** What each lane is working on. */
  readonly #batches: (Promise<void> | undefined)[]
  readonly #oneTenant: boolean
  #waiting: QueuedSet[] = []

  /** With `oneTenant`, a batch holds sets of a single tenant, so a sharded database commits it on one shard. */
  constructor(
    commit: CommitBatch,
    { lanes = 1, oneTenant = false }: { lanes?: number; oneTenant?: boolean } = {},
  ) {
    this.#commit = commit
    this.#batches = Array.from({ length: lanes }, () => undefined)
    this.#oneTenant = oneTenant
  }

  add(set: WriteSet): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ set, resolve, reject })
      const idle = this.#batches.indexOf(undefined)
      if (idle >= 0) void this.#run(idle)
    })
  }

  /** Resolves once the sets that were added before are answered, however many come after them. */
  async drain(): Promise<void> {
    const newest = this.#waiting.at(-1)
    while (newest !== undefined && this.#waiting.includes(newest)) await Promise.all(this.#batches)
    await Promise.all(this.#batches)
  }

  async #run(lane: number): Promise<void> {
    do {
      this.#batches[lane] = this.#commitNext(lane)
      await this.#batches[lane]
    } while (this.#waiting.length > 0)
    this.#batches[lane] = undefined
  }

  async #commitNext(lane: number): Promise<void> {
    // A first set that left alone would cost the sets right behind it an fsync of their own. Waiting for the whole turn
    // of the event loop would make the writer and the requests wait for each other by turns: a fifth fewer creates.
    await stepEnds()
    const batch = this.#takeBatch()
    if (batch.length === 0) return
    let results: readonly BatchResult[]
    try {
      results = await this.#commit(
        batch.map(({ set }) => set),
        lane,
      )
    } catch (error) {
      for (const { reject } of batch) reject(new StoreUnavailableError(notStored, { cause: error }))
      return
    }
    batch.forEach(({ resolve, reject }, position) => {
      const result = results[position] ?? { failed: 'the set was not answered' }
      if ('failed' in result) reject(new StoreUnavailableError(notStored, { outage: result.failed }))
      else resolve(result)
    })
  }

  #takeBatch(): QueuedSet[] {
    const tenant = this.#oneTenant ? this.#waiting[0]?.set.tenant : undefined
    const batch: QueuedSet[] = []
    const left: QueuedSet[] = []
    let changes = 0
    let bytes = 0
    for (const next of this.#waiting) {
      const { guarded, effects } = next.set
      const fits =
        batch.length === 0 ||
        (changes < changesPerBatch && bytes < bytesPerBatch && batch.length < setsPerBatch)
      if (fits && (tenant === undefined || next.set.tenant === tenant)) {
        batch.push(next)
        changes += guarded.length + effects.length
        bytes += sealedBytes(guarded)
      } else left.push(next)
    }
    this.#waiting = left
    return batch
  }
}

/** The sealed bytes are nearly all of a set's size. */
const sealedBytes = (guarded: WriteSet['guarded']): number => {
  let bytes = 0
  for (const change of guarded)
    if ('row' in change && 'sealed' in change.row) bytes += change.row.sealed.length
  return bytes
}

const notStored = 'the write was not stored'
