import { describeError, type Log } from '../domain/log.ts'
import type { JobMeters } from './job-meters.ts'
import type { Lease } from './lease.ts'

export type Job = {
  readonly name: string
  /** A long job ends early when it is told to stop, and continues in a later run. */
  readonly run: (stopping: AbortSignal) => Promise<Record<string, unknown>>
  /** Runs only on the node that holds the lease. The other nodes try to get it at each interval. */
  readonly onOneNode?: true
}

export type JobTimer = {
  /** Runs every job once. */
  runAll(): Promise<void>
  /** Runs all jobs now, which catches up after any pause, and then at each interval. */
  start(): void
  /** Tells a current run to end, and waits for it. */
  stop(): Promise<void>
}

/** Runs the jobs once, one after the other. A failed job is logged, and the next one still runs. */
export const runJobs = async (
  jobs: readonly Job[],
  { log, lease, meters, signal }: { log: Log; lease?: Lease; meters?: JobMeters; signal: AbortSignal },
): Promise<void> => {
  for (const job of jobs) {
    if (signal.aborted) return
    let begunAt: number | undefined
    try {
      // Renewed before each job, because the lease may end during a long job.
      const mayRun = !job.onOneNode || lease === undefined || (await lease.hold())
      if (!mayRun) continue
      begunAt = performance.now()
      const done = await job.run(signal)
      meters?.ran(job.name, begunAt)
      log.debug({ job: job.name, ...done }, 'job done')
    } catch (error) {
      // Storage that does not say who holds the lease fails the job as well.
      meters?.failed(job.name, begunAt)
      log.error({ job: job.name, ...describeError(error) }, 'job failed')
    }
  }
}

export const jobTimer = (
  jobs: readonly Job[],
  options: { intervalMs: number; log: Log; lease?: Lease; meters?: JobMeters },
): JobTimer => {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let stopping = new AbortController()

  const runAll = (): Promise<void> => {
    // Runs do not overlap.
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

/** Runs several as one. None waits for another. */
export const allOf = (works: readonly JobTimer[]): JobTimer => ({
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
