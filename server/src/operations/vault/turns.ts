import { setImmediate as nextTurn } from 'node:timers/promises'

/** As long as others may wait for work that takes a while. */
const turnMs = 20

/** Long work asks between its steps, so that requests are answered meanwhile: `if (turns.isOver) await turns.next()`. */
export class Turns {
  #startedAt = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#startedAt > turnMs
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#startedAt = performance.now()
  }
}
