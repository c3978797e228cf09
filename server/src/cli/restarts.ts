/** How long a dead worker's place stays empty; told the time, so that no test waits. */
export type Restarts = {
  /** After how many milliseconds the next one starts, or `giveUp`. */
  ended(worker: { livedMs: number; wasReady: boolean }, others: { areReady: boolean }): number | 'giveUp'
}

/** Who lived this long did not die of how it was started. */
const settledMs = 10_000
const firstWaitMs = 100
const waitMaxMs = 30_000
const failedStartsMax = 5

/**
 * The first death costs no time; one that follows soon after a start doubles the wait, so that a worker that
 * cannot live does not keep the machine busy. While others answer it is tried for ever: what is broken may be
 * repaired. When nobody answers and none gets ready, whoever watches this process must learn of it.
 */
export const restarts = (): Restarts => {
  let shortLives = 0
  let failedStarts = 0
  return {
    ended: ({ livedMs, wasReady }, others) => {
      failedStarts = wasReady ? 0 : failedStarts + 1
      if (failedStarts >= failedStartsMax && !others.areReady) return 'giveUp'
      shortLives = wasReady && livedMs >= settledMs ? 0 : shortLives + 1
      return shortLives <= 1 ? 0 : Math.min(waitMaxMs, firstWaitMs * 2 ** (shortLives - 2))
    },
  }
}
