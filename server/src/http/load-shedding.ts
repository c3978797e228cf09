import { VaultError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { pace } from '../domain/pace.ts'

/**
 * Turns requests away while there is more to do than can be answered soon (C2). Admitted requests are answered in bounded time
 * and memory, and the vault is back at full speed as soon as the rush is over.
 */
export type LoadShedding = {
  /**
   * Throws 503. Called before a key is looked up or a body is read, so that a refusal costs little. `changesAhead` is the number
   * of changes that the request would have to wait for in storage: 0 if it only reads.
   */
  requireRoom(changesAhead: number): void
  /** Throws 503 if the request would have to queue behind too many others before it is worked on. */
  requireShortQueue(requestsAhead: number): void
  /** A request counts as in flight between these two. While its body is still arriving, it takes no room. */
  enter(): void
  leave(): void
  /** To be called when a new turn of the event loop has begun. */
  onLoopTurn(): void
}

/** Time that passes, and time that this thread works: on a busy machine, time that passes without work is no overload. */
export type LoopClock = { passedMs(): number; workedMs(): number }

const machineClock: LoopClock = {
  passedMs: () => performance.now(),
  workedMs: () => {
    const used = process.threadCpuUsage()
    return (used.user + used.system) / 1_000
  },
}

export const loadShedding = (log: Log, clock: LoopClock = machineClock): LoadShedding => {
  let inFlight = 0
  let begun = { passedMs: clock.passedMs(), workedMs: clock.workedMs(), admitted: 0 }
  let refused = 0
  let reportedAtMs = Number.NEGATIVE_INFINITY

  /** Requests that arrived together are answered in one turn of the loop. Those it cannot take in are refused, to be retried. */
  const isLoopTurnFull = (): boolean =>
    begun.admitted >= pace.requestsPerLoopTurnMin &&
    clock.passedMs() - begun.passedMs > pace.loopTurnWorkMs &&
    clock.workedMs() - begun.workedMs > pace.loopTurnWorkMs

  const isCrowded = (): boolean => inFlight >= pace.requestsAlwaysTaken

  const refuse = (): never => {
    refused++
    throw new VaultError('overloaded')
  }

  return {
    requireRoom: changesAhead => {
      const isStorageBehind = isCrowded() && changesAhead > pace.changesWaiting
      if (inFlight >= pace.requestsInFlight || isStorageBehind || isLoopTurnFull()) refuse()
      begun.admitted++
    },
    requireShortQueue: requestsAhead => {
      if (isCrowded() && requestsAhead >= pace.longRequestsWaiting) refuse()
    },
    enter: () => {
      inFlight++
    },
    leave: () => {
      inFlight--
    },
    onLoopTurn: () => {
      const passedMs = clock.passedMs()
      begun = { passedMs, workedMs: clock.workedMs(), admitted: 0 }
      // Logged only now and then: a line for each refusal would add to the load.
      if (refused === 0 || passedMs - reportedAtMs < pace.overloadReportIntervalMs) return
      log.error({ refused, in_flight: inFlight }, 'overloaded')
      refused = 0
      reportedAtMs = passedMs
    },
  }
}

/** Reports turns of the event loop, at most one per interval; returns a function that stops it. */
export const watchLoop = (shedding: LoadShedding): (() => void) => {
  const timer = setInterval(() => shedding.onLoopTurn(), pace.loopCheckIntervalMs)
  timer.unref()
  return () => clearInterval(timer)
}
