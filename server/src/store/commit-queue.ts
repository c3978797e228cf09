import { StoreUnavailableError } from './port.ts'
import type { Outcome, WriteSet } from './write-set.ts'

/** What became of one set: its outcome, or, if storage could not take it, the engine's reason in constant words. */
export type BatchResult = Outcome | { readonly failed: string }

/** Commits sets together. Each lane has at most one batch in flight. */
export type CommitBatch = (sets: readonly WriteSet[], lane: number) => Promise<readonly BatchResult[]>

type Waiting = { set: WriteSet; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }

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
  readonly #lanes: (Promise<void> | undefined)[]
  readonly #oneTenant: boolean
  #waiting: Waiting[] = []

  /** With `oneTenant`, a batch holds sets of a single tenant, so a sharded database commits it on one shard. */
  constructor(
    commit: CommitBatch,
    { lanes = 1, oneTenant = false }: { lanes?: number; oneTenant?: boolean } = {},
  ) {
    this.#commit = commit
    this.#lanes = Array.from({ length: lanes }, () => undefined)
    this.#oneTenant = oneTenant
  }

  add(set: WriteSet): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ set, resolve, reject })
      const idle = this.#lanes.indexOf(undefined)
      if (idle >= 0) this.#lanes[idle] = this.#run(idle)
    })
  }

  /** Resolves once nothing is waiting. */
  async drain(): Promise<void> {
    await Promise.all(this.#lanes)
  }

  async #run(lane: number): Promise<void> {
    do {
      // A first set that left alone would cost the sets right behind it an fsync of their own. Waiting for the whole
      // turn of the event loop would make the writer and the requests wait for each other by turns: a fifth fewer
      // creates.
      await stepEnds()
      const batch = this.#takeBatch()
      if (batch.length > 0) await this.#commitBatch(batch, lane)
    } while (this.#waiting.length > 0)
    this.#lanes[lane] = undefined
  }

  async #commitBatch(batch: readonly Waiting[], lane: number): Promise<void> {
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

  #takeBatch(): Waiting[] {
    const tenant = this.#oneTenant ? this.#waiting[0]?.set.tenant : undefined
    const batch: Waiting[] = []
    const left: Waiting[] = []
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
