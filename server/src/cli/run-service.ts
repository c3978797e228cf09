import type { TlsOptions } from 'node:tls'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import type { Address } from '../http/server.ts'
import type { KeyProvider } from '../keys/key-provider.ts'
import type { Service, SharedAcrossWorkers } from '../service.ts'
import { fileAnchor } from '../store/file-anchor.ts'
import type { Store } from '../store/port.ts'
import { baseUrl } from './base-url.ts'
import { leaveLog, type ProcessLog } from './log.ts'
import type { HangUps } from './signals.ts'
import { readTlsFiles } from './tls.ts'
import { warnOfDates, warnOfTls } from './tls-warnings.ts'

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
    tls: TlsOptions | undefined
    /** The address to listen on, if not that of the settings. */
    address?: Address
    shared?: SharedAcrossWorkers
  },
  hooks: Hooks,
): Promise<void> => {
  const { store, keyProvider, log, tls, shared, address = config } = parts
  // Loaded here: most commands never serve and would wait 0.2 s for code that they do not use.
  const { buildService } = await import('../service.ts')
  const service = await buildService({
    store,
    keyProvider,
    log,
    clock: Date.now,
    settings: { ...config, auditAnchors: config.auditAnchors.map(fileAnchor) },
    growsOnThread: true,
    ...(tls && { tls }),
    ...(shared && { shared }),
  }).catch(async error => {
    await store.close()
    throw error
  })
  const stopped = hooks.stopped()
  hooks.hangUps?.(() => renewTls(config, service, log, shared === undefined))
  try {
    await hooks.prepare?.(service)
    const { port } = await service.listen(address)
    service.startJobs()
    if (shared === undefined) warnOfTls(config, log)
    hooks.ready({ url: baseUrl(config, port), port }, service)
    await stopped
    log.info({}, 'draining')
  } finally {
    await service.close(config.drainTimeoutMs)
    leaveLog()
  }
}

/** A broken new certificate must not stop a running server, so the old one stays. */
const renewTls = (config: Config, service: Service, log: ProcessLog, isAlone: boolean): void => {
  try {
    const tls = readTlsFiles(config)
    if (tls === undefined) return
    service.renewTls(tls)
    log.info({}, 'TLS certificates renewed')
    // About the certificates served from now on. The files may have changed since.
    if (isAlone) warnOfDates(tls.cert, log)
  } catch (error) {
    const reason = error instanceof ConfigError ? error.message : foreignCode(error)
    log.error({ reason }, 'the new TLS certificates cannot be used; the old ones stay')
  }
}
