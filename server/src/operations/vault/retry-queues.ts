import { StoreUnavailableError } from '../../store/port.ts'

/**
 * Writers of this process that lost an attempt to another, in one queue for each thing written. In parallel, all but one of them
 * would lose the next attempt, too: 400 changes of one token took 37,000 attempts instead of 800.
 */
export type RetryQueues = {
  /**
   * Runs the work when all earlier work under this name has ended, with success or not. If storage failed it, the rest fails with
   * it: otherwise each would wait as long for storage, one after another.
   */
  inOrder<A>(name: string, work: () => Promise<A>): Promise<A>
  /** The number of queues. An empty queue is forgotten. */
  readonly size: number
}

export const retryQueues = (): RetryQueues => {
  /** What was last added to each queue. */
  const last = new Map<string, Promise<unknown>>()
  return {
    inOrder: (name, work) => {
      const next = (last.get(name) ?? Promise.resolve()).then(work, (error: unknown) => {
        if (error instanceof StoreUnavailableError) throw error
        return work()
      })
      last.set(name, next)
      const over = (): void => {
        if (last.get(name) === next) last.delete(name)
      }
      next.then(over, over)
      return next
    },
    get size() {
      return last.size
    },
  }
}
