import about from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config/config.ts'
import { processFamilies } from '../../telemetry/families.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { certificateDates } from '../tls.ts'

/** What every process of a server says of itself. */
export type ProcessMeters = {
  /** The certificate that is served from now on. */
  serves(certificate: Buffer): void
  replacesWorker(): void
  /** How many workers did not answer in time. */
  misses(workers: number): void
}

export const processMeters = (
  telemetry: Telemetry,
  { database }: Pick<Config, 'database'>,
): ProcessMeters => {
  const storage = database === undefined ? 'sqlite' : 'postgresql'
  const meters = telemetry.add(processFamilies, {
    build: [`version="${about.version}",node="${process.versions.node}",storage="${storage}"`],
  })
  const [cpu, memory] = [meters.counter('cpu'), meters.gauge('memory')]
  const [certificateUntil, replaced] = [meters.gauge('certificateUntil'), meters.counter('replaced')]
  const silent = meters.gauge('silent')
  meters.gauge('build', 0).set(1)
  meters.gauge('processes').set(1)
  meters.gauge('startedAt').set(Math.round(performance.timeOrigin))
  silent.set(0)
  telemetry.beforeEach(() => {
    const { user, system } = process.cpuUsage()
    cpu.reach(user + system)
    memory.set(process.memoryUsage.rss())
  })
  return {
    serves: certificate => certificateUntil.set(certificateDates(certificate).until.getTime()),
    replacesWorker: () => replaced.add(),
    misses: workers => silent.set(workers),
  }
}
