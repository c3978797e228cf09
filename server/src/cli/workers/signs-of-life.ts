/** How often workers are asked, and how many times in a row one may leave that unanswered: half a minute. */
export const askEveryMs = 5_000
const unansweredMax = 6

/** A worker that is not ready by then will never be. A start takes a second; after a crash, or on a busy machine, several. */
export const startMaxMs = 120_000

/**
 * Decides which workers hang: such a worker never ends, and the system goes on giving it connections. What counts are questions,
 * not time, so that a machine that wakes up finds nobody hanging. It is told of each question and sign, so that no test waits.
 */
export class SignsOfLife<Worker extends object> {
  readonly #unanswered = new WeakMap<Worker, number>()

  /** Whether it has left too many questions unanswered. */
  isHanging(worker: Worker): boolean {
    return this.#unansweredBy(worker) >= unansweredMax
  }

  asked(worker: Worker): void {
    this.#unanswered.set(worker, this.#unansweredBy(worker) + 1)
  }

  /** Whatever a worker says shows that it lives. */
  heard(worker: Worker): void {
    this.#unanswered.delete(worker)
  }

  #unansweredBy(worker: Worker): number {
    return this.#unanswered.get(worker) ?? 0
  }
}
