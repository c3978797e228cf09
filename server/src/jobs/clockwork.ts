import { describeError, type Log } from '../domain/log.ts'
import type { Lease } from './lease.ts'

export type Job = {
  readonly name: string
  /** A job that may take long ends early once it is told to stop, and goes on in another run. */
  readonly run: (stopping: AbortSignal) => Promise<Record<string, unknown>>
  /** Runs only on the node that holds the lease; the others do nothing but try again at each interval. */
  readonly onOneNode?: true
}

export type Clockwork = {
  /** Runs every job once. */
  runAll(): Promise<void>
  /** Runs all jobs now, which catches up after any pause, and then at each interval. */
  start(): void
  /** Tells a run that is under way to end, and waits for it. */
  stop(): Promise<void>
}

/** Runs the jobs once, one after the other; one that fails is logged, and does not keep the next from running. */
export const runJobs = async (
  jobs: readonly Job[],
  { log, lease, signal }: { log: Log; lease?: Lease; signal: AbortSignal },
): Promise<void> => {
  for (const job of jobs) {
    if (signal.aborted) return
    try {
      // Renewed before each job, so that a long one does not leave the next without the lease.
      const mayRun = !job.onOneNode || lease === undefined || (await lease.hold())
      if (!mayRun) continue
      const done = await job.run(signal)
      log.debug({ job: job.name, ...done }, 'job done')
    } catch (error) {
      log.error({ job: job.name, ...describeError(error) }, 'job failed')
    }
  }
}

export const clockwork = (
  jobs: readonly Job[],
  options: { intervalMs: number; log: Log; lease?: Lease },
): Clockwork => {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopping = new AbortController()

  const runAll = (): Promise<void> => {
    // A slow run is not overtaken by the next one.
    if (running === undefined) {
      stopping = new AbortController()
      running = runJobs(jobs, { ...options, signal: stopping.signal }).finally(() => {
        running = undefined
      })
    }
    return running
  }

  return {
    runAll,
    start: () => {
      void runAll()
      timer = setInterval(() => void runAll(), options.intervalMs)
      timer.unref()
    },
    stop: async () => {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}

/** Runs several as one; none waits for another. */
export const allOf = (works: readonly Clockwork[]): Clockwork => ({
  runAll: async () => {
    await Promise.all(works.map(work => work.runAll()))
  },
  start: () => {
    for (const work of works) work.start()
  },
  stop: async () => {
    await Promise.all(works.map(work => work.stop()))
  },
})
