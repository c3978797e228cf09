import type { TlsOptions } from 'node:tls'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { TracingConfig } from '../config/tracing-config.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import type { Address } from '../http/server.ts'
import type { KeyProvider } from '../keys/key-provider.ts'
import type { Service, SharedAcrossWorkers } from '../service.ts'
import { fileAnchor } from '../store/file-anchor.ts'
import type { Store } from '../store/port.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { totalOf } from '../telemetry/totals.ts'
import { traceCounters } from '../telemetry/traces.ts'
import { baseUrl } from './base-url.ts'
import { leaveLog, type ProcessLog } from './log.ts'
import type { HangUps } from './signals.ts'
import { readOutboundCa, readTlsFiles } from './tls.ts'
import { warnOfDates, warnOfTls } from './tls-warnings.ts'
import type { MetricsServer } from './watching/metrics-server.ts'
import { type ProcessMeters, processMeters } from './watching/process-meters.ts'

type Hooks = {
  /**
   * Resolves when the service must stop. Called when there is something to drain. Until then, a signal just ends the process.
   */
  readonly stopped: () => Promise<void>
  /** Each one makes the service read the certificates again. */
  readonly hangUps?: HangUps
  readonly prepare?: (service: Service) => Promise<void>
  /** Called once requests are answered. */
  readonly ready: (listening: { url: string; port: number }, service: Service) => void
}

/** Runs the service until it is told to stop, then drains it. */
export const runService = async (
  config: Config,
  parts: {
    store: Store
    keyProvider: KeyProvider
    log: ProcessLog
    tls: (TlsOptions & { cert: Buffer }) | undefined
    telemetry: Telemetry
    /** Where traces of requests are sent. */
    traces: TracingConfig | undefined
    /** The address to listen on, if not that of the settings. */
    address?: Address
    shared?: SharedAcrossWorkers
  },
  hooks: Hooks,
): Promise<void> => {
  const { store, keyProvider, log, tls, telemetry, traces, shared, address = config } = parts
  const meters = processMeters(telemetry, config)
  const counters = traceCounters(telemetry)
  const tracing = traces && (await import('./watching/otlp-exporter.ts')).tracerFor(traces, counters, log)
  if (tls !== undefined) meters.serves(tls.cert)
  // Loaded here: most commands never serve and would wait 0.2 s for code that they do not use.
  const { buildService } = await import('../service.ts')
  const service = await buildService({
    store,
    keyProvider,
    log,
    clock: Date.now,
    telemetry,
    tracer: tracing?.tracer,
    settings: {
      ...config,
      auditAnchors: config.auditAnchors.map(fileAnchor),
      outbound: { ...config.outbound, ca: readOutboundCa(config), ownHost: config.host },
    },
    growsOnThread: true,
    ...(tls && { tls }),
    ...(shared && { shared }),
  }).catch(async error => {
    await store.close()
    throw error
  })
  const stopped = hooks.stopped()
  hooks.hangUps?.(() => renewTls(config, { ...service, meters, log, isAlone: shared === undefined }))
  let metrics: MetricsServer | undefined
  try {
    await hooks.prepare?.(service)
    if (config.metrics !== undefined && shared === undefined) {
      const { serveMetrics } = await import('./watching/metrics-server.ts')
      metrics = await serveMetrics(config.metrics, async () => totalOf(telemetry).text, log)
    }
    const { port } = await service.listen(address)
    service.startJobs()
    if (shared === undefined) warnOfTls(config, log)
    hooks.ready({ url: baseUrl(config, port), port }, service)
    await stopped
    log.info({}, 'draining')
  } finally {
    await service.close(config.drainTimeoutMs)
    await tracing?.close()
    metrics?.close()
    leaveLog()
  }
}

/** A broken new certificate must not stop a running server, so the old one stays. */
const renewTls = (
  config: Config,
  {
    renewTls,
    meters,
    log,
    isAlone,
  }: Pick<Service, 'renewTls'> & { meters: ProcessMeters; log: ProcessLog; isAlone: boolean },
): void => {
  try {
    const tls = readTlsFiles(config)
    if (tls === undefined) return
    renewTls(tls)
    meters.serves(tls.cert)
    log.info({}, 'TLS certificates renewed')
    // About the certificates served from now on. The files may have changed since.
    if (isAlone) warnOfDates(tls.cert, log)
  } catch (error) {
    const reason = error instanceof ConfigError ? error.message : foreignCode(error)
    log.error({ reason }, 'the new TLS certificates cannot be used; the old ones stay')
  }
}
