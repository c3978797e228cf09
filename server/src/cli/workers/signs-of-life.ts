/** How often workers are asked, and how many questions in a row one may leave unanswered: half a minute. */
export const askEveryMs = 5_000
const unansweredMax = 6

/**
 * A worker that is not ready by then never will be. A start takes a second; after a crash or on a busy machine, it takes several.
 */
export const startMaxMs = 120_000

/**
 * Decides which workers hang. A hanging worker never ends, and the system keeps giving it connections. Questions count, not time:
 * when a machine wakes up, no worker seems to hang. It is told of each question and each sign, so that no test waits.
 */
export class SignsOfLife<Worker extends object> {
  readonly #unanswered = new WeakMap<Worker, number>()

  /** Whether the worker has left too many questions unanswered. */
  isHanging(worker: Worker): boolean {
    return this.#unansweredBy(worker) >= unansweredMax
  }

  asked(worker: Worker): void {
    this.#unanswered.set(worker, this.#unansweredBy(worker) + 1)
  }

  /** Any message from a worker shows that it lives. */
  heard(worker: Worker): void {
    this.#unanswered.delete(worker)
  }

  #unansweredBy(worker: Worker): number {
    return this.#unanswered.get(worker) ?? 0
  }
}
