/** Decides how long a dead worker's place stays empty. It is told the time, so that no test waits. */
export type Restarts = {
  /** Milliseconds until the replacement starts, or `giveUp`. */
  ended(worker: { livedMs: number; wasReady: boolean }, others: { areReady: boolean }): number | 'giveUp'
}

/** A worker that lived this long did not die because of how it was started. */
const settledMs = 10_000
const firstWaitMs = 100
const waitMaxMs = 30_000
const failedStartsMax = 5

/**
 * The first death costs no time. One that follows soon after a start doubles the wait, so that a worker that cannot live does not
 * keep the machine busy. While other workers answer, it is retried for ever, because the cause may be repaired. When no worker
 * answers and none gets ready, the primary gives up, so that whatever watches this process learns of it.
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
