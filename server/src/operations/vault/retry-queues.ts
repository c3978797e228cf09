import { StoreUnavailableError } from '../../store/port.ts'

/**
 * Writers of this process that lost a round to another, in one queue for each thing written. Side by side all but one of them would
 * lose the next round, too: 400 changes of one token took 37,000 rounds instead of 800.
 */
export type RetryQueues = {
  /**
   * Runs the work once all that came before it under this name is over, whether it succeeded or failed. If storage failed it, the
   * others fail with it: each would wait as long for storage, one after the other.
   */
  inTurn<A>(name: string, work: () => Promise<A>): Promise<A>
  /** How many queues there are: one in which nobody is left is forgotten. */
  readonly size: number
}

export const retryQueues = (): RetryQueues => {
  /** What was last added to each queue. */
  const last = new Map<string, Promise<unknown>>()
  return {
    inTurn: (name, work) => {
      const turn = (last.get(name) ?? Promise.resolve()).then(work, (error: unknown) => {
        if (error instanceof StoreUnavailableError) throw error
        return work()
      })
      last.set(name, turn)
      const over = (): void => {
        if (last.get(name) === turn) last.delete(name)
      }
      turn.then(over, over)
      return turn
    },
    get size() {
      return last.size
    },
  }
}
