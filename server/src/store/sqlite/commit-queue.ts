import { StoreUnavailableError } from '../port.ts'
import type { Outcome, WriteSet } from '../write-set.ts'
import type { BatchResult } from './batch-writer.ts'

type Waiting = { set: WriteSet; resolve: (outcome: Outcome) => void; reject: (error: Error) => void }

/** Bounds how long one transaction takes; a set is never split. */
const changesPerBatch = 4_000

/**
 * Group commit. Sets that arrive while a batch is being committed commit together and share one fsync; their
 * promises resolve after their commit, never before. `gather` is what a batch waits for when nothing is under
 * way: a writer on this thread lets the turn of the event loop end first, one on another thread starts at once,
 * so that both work at the same time.
 */
export class CommitQueue {
  readonly #commit: (sets: readonly WriteSet[]) => Promise<readonly BatchResult[]>
  readonly #gather: () => Promise<void>
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  constructor(
    commit: (sets: readonly WriteSet[]) => Promise<readonly BatchResult[]>,
    gather: () => Promise<void>,
  ) {
    this.#commit = commit
    this.#gather = gather
  }

  add(set: WriteSet): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ set, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when nothing waits any more. */
  async drain(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    await this.#gather()
    while (this.#waiting.length > 0) await this.#commitBatch(this.#takeBatch())
    this.#running = undefined
  }

  async #commitBatch(batch: readonly Waiting[]): Promise<void> {
    let results: readonly BatchResult[]
    try {
      results = await this.#commit(batch.map(({ set }) => set))
    } catch (error) {
      for (const { reject } of batch) reject(unavailable(error))
      return
    }
    batch.forEach(({ resolve, reject }, position) => {
      const result = results[position] ?? 'failed'
      if (result === 'failed') reject(unavailable())
      else resolve(result)
    })
  }

  #takeBatch(): Waiting[] {
    let changes = 0
    let count = 0
    while (count < this.#waiting.length && (count === 0 || changes < changesPerBatch)) {
      const next = this.#waiting[count]?.set
      changes += (next?.guarded.length ?? 0) + (next?.effects.length ?? 0)
      count++
    }
    return this.#waiting.splice(0, count)
  }
}

const unavailable = (cause?: unknown): StoreUnavailableError =>
  new StoreUnavailableError('the write was not stored', { cause })
