import type { TlsOptions } from 'node:tls'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import type { Address } from '../http/server.ts'
import type { KeyProvider } from '../keys/key-provider.ts'
import type { Service, SharedAcrossWorkers } from '../service.ts'
import type { Store } from '../store/port.ts'
import { baseUrl } from './base-url.ts'
import { leaveLog, type ProcessLog } from './log.ts'
import type { HangUps } from './signals.ts'
import { readTlsFiles } from './tls.ts'
import { warnOfDates, warnOfTls } from './tls-warnings.ts'

type Hooks = {
  /** Resolves when the service must stop. Called once there is something to drain; until then a signal just ends the process. */
  readonly stopped: () => Promise<void>
  /** Each reads the certificates again. */
  readonly hangUps?: HangUps
  readonly prepare?: (service: Service) => Promise<void>
  /** Called once requests are answered. */
  readonly ready: (listening: { url: string; port: number }, service: Service) => void
}

/** Runs until it is told to stop, then drains. */
export const runService = async (
  config: Config,
  parts: {
    store: Store
    keyProvider: KeyProvider
    log: ProcessLog
    tls: TlsOptions | undefined
    /** Where it listens, if not where the settings say. */
    address?: Address
    shared?: SharedAcrossWorkers
  },
  hooks: Hooks,
): Promise<void> => {
  const { store, keyProvider, log, tls, shared, address = config } = parts
  // Loaded here, because most commands never serve and would wait 0.2 s for what they do not use.
  const { buildService } = await import('../service.ts')
  const service = await buildService({
    store,
    keyProvider,
    log,
    clock: Date.now,
    settings: config,
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

/** A broken new certificate must not take a running server down: the old one stays. */
const renewTls = (config: Config, service: Service, log: ProcessLog, isAlone: boolean): void => {
  try {
    const tls = readTlsFiles(config)
    if (tls === undefined) return
    service.renewTls(tls)
    log.info({}, 'TLS certificates renewed')
    // Of those that it serves from now on; the files may be others by now.
    if (isAlone) warnOfDates(tls.cert, log)
  } catch (error) {
    const reason = error instanceof ConfigError ? error.message : foreignCode(error)
    log.error({ reason }, 'the new TLS certificates cannot be used; the old ones stay')
  }
}
