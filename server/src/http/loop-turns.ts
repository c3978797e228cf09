import { pace } from '../domain/pace.ts'

/** Decides in which turn of the event loop a request is worked on, once its body has been read. */
export type LoopTurns = {
  /** How many others a request with a body of this length would have to wait for. */
  ahead(bodyBytes: number): number
  /**
   * Resolves when the turn of the event loop ends, so that requests that arrive together are worked on together, step by step:
   * all are read off their sockets, then all rows are read, then all are opened, then all are answered. Taken one by one, each
   * step would find the processor's caches filled with the code of all others, and cost half as much again. Requests with a long
   * body queue: each gets a turn of its own, with other turns in between, so that small requests and probes wait for no more than
   * one of them.
   */
  next(bodyBytes: number): Promise<void>
}

export const loopTurns = (): LoopTurns => {
  let ending: Promise<void> | undefined
  let together = 0
  const longQueue: (() => void)[] = []

  const nextTogether = (): Promise<void> => {
    if (ending === undefined || together >= pace.requestsTogetherMax) {
      together = 0
      const group = new Promise<void>(resolve =>
        setImmediate(() => {
          if (ending === group) ending = undefined
          resolve()
        }),
      )
      ending = group
    }
    together++
    return ending
  }

  /** An immediate that is scheduled while immediates run belongs to the next turn. */
  const nextLong = (turnsLeft: number): void => {
    if (turnsLeft > 0) {
      setImmediate(nextLong, turnsLeft - 1)
      return
    }
    longQueue.shift()?.()
    if (longQueue.length > 0) setImmediate(nextLong, pace.loopTurnsBetweenLong)
  }

  return {
    ahead: bodyBytes => (bodyBytes <= pace.shortBodyBytesMax ? 0 : longQueue.length),
    next: bodyBytes => {
      if (bodyBytes <= pace.shortBodyBytesMax) return nextTogether()
      return new Promise(resolve => {
        if (longQueue.push(resolve) === 1) setImmediate(nextLong, 0)
      })
    },
  }
}
