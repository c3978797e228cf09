import { setImmediate as nextTurn } from 'node:timers/promises'

/** How long requests may wait for a turn of long work. */
const turnMs = 20

/** Lets requests be answered during long work, which runs this between its steps: `if (turns.isOver) await turns.next()`. */
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
