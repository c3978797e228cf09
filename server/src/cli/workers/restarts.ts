/** Decides how long to wait before a dead worker is replaced. It is told the time, so that no test waits. */
export type Restarts = {
  /** Milliseconds until the replacement starts, or `giveUp`. */
  ended(worker: { livedMs: number; wasReady: boolean }, others: { areReady: boolean }): number | 'giveUp'
}

/** If a worker lived this long, its start was not the cause of its death. */
const settledMs = 10_000
const firstWaitMs = 100
const waitMaxMs = 30_000
const failedStartsMax = 5

/**
 * After the first death, the replacement starts at once. Each death soon after a start doubles the wait, so that a worker that
 * cannot live does not keep the machine busy. While other workers answer, the primary retries for ever, because the cause may be
 * repaired. If no worker answers and none gets ready, the primary gives up, so that its supervisor learns of it.
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
