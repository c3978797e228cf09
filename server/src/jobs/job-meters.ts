import { jobFamilies } from '../telemetry/families.ts'
import type { Counter, Gauge } from '../telemetry/meters.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

/** Counts the runs of jobs, by their names. */
export class JobMeters {
  readonly #of: ReadonlyMap<string, MetersOfJob>

  constructor(telemetry: Telemetry, jobs: readonly string[]) {
    const names = [...new Set(jobs)].sort()
    const meters = telemetry.add(jobFamilies, { job: names.map(name => `job="${name}"`) })
    this.#of = new Map(
      names.map((name, at) => [
        name,
        {
          runs: meters.counter('runs', at),
          failures: meters.counter('failures', at),
          seconds: meters.counter('seconds', at),
          lastSuccess: meters.gauge('lastSuccess', at),
        },
      ]),
    )
  }

  ran(job: string, begunAt: number): void {
    const meters = this.#of.get(job)
    meters?.runs.add()
    meters?.seconds.addMs(performance.now() - begunAt)
    meters?.lastSuccess.set(Date.now())
  }

  failed(job: string, begunAt = performance.now()): void {
    const meters = this.#of.get(job)
    meters?.runs.add()
    meters?.failures.add()
    meters?.seconds.addMs(performance.now() - begunAt)
  }
}

type MetersOfJob = {
  readonly runs: Counter
  readonly failures: Counter
  readonly seconds: Counter
  readonly lastSuccess: Gauge
}
