import cluster from 'node:cluster'
import { env } from 'node:process'

/** How the primary tells a worker which one it is. */
export const numberVariable = 'STRONGROOM_WORKER_NUMBER'

/** Runs as one of several processes that share a port. */
export const asWorker = async (run: (number: number) => Promise<void>): Promise<void> => {
  // Whoever signals a whole group of processes signals a worker twice: to drain once is enough, and who is in a
  // hurry ends the primary, without which no worker stays.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  try {
    await run(Number(env[numberVariable]))
  } finally {
    // The channel to the primary would keep this process alive.
    cluster.worker?.disconnect()
  }
}
