import type { TlsOptions } from 'node:tls'
import { pino } from 'pino'
import type { Config } from '../config.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import type { Log } from '../domain/log.ts'
import type { Service, Together } from '../service.ts'
import type { Store } from '../store/port.ts'
import { baseUrl } from './base-url.ts'
import { stopSignal } from './stop-signal.ts'
import { readTlsFiles } from './tls.ts'

/** The log of a process, which has more to say than a request has. */
type ProcessLog = Log & { warn(fields: Record<string, unknown>, message: string): void }

/** `about` is what every line carries. */
export const makeLog = ({ logLevel }: Config, about: { readonly worker?: number } = {}): ProcessLog => {
  const logger = pino({ level: logLevel, base: about }, pino.destination({ dest: 2, sync: true }))
  return {
    isDebug: logger.isLevelEnabled('debug'),
    error: (fields, message) => logger.error(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    info: (fields, message) => logger.info(fields, message),
    debug: (fields, message) => logger.debug(fields, message),
  }
}

type Hooks = {
  readonly stopOn: readonly NodeJS.Signals[]
  readonly prepare?: (service: Service) => Promise<void>
  /** Called once requests are answered. */
  readonly ready: (baseUrl: string) => void
}

/** Runs until it is told to stop, then drains. Otherwise SIGHUP reads the certificates again. */
export const runService = async (
  config: Config,
  parts: {
    store: Store
    keyProvider: KeyProvider
    log: Log
    tls: TlsOptions | undefined
    together?: Together
  },
  { stopOn, prepare, ready }: Hooks,
): Promise<void> => {
  const { store, keyProvider, log, tls, together } = parts
  // Loaded here, because most commands never serve and would wait 0.2 s for what they do not use.
  const { buildService } = await import('../service.ts')
  const service = await buildService({
    store,
    keyProvider,
    log,
    clock: Date.now,
    settings: config,
    ...(tls && { tls }),
    ...(together && { together }),
  }).catch(async error => {
    await store.close()
    throw error
  })
  const stopped = stopSignal(stopOn)
  if (!stopOn.includes('SIGHUP')) process.on('SIGHUP', () => renewTls(config, service, log))
  try {
    await prepare?.(service)
    const { port } = await service.listen(config)
    service.startClockwork()
    ready(baseUrl(config, port))
    await stopped
    log.info({}, 'draining')
  } finally {
    await service.close(config.drainTimeoutMs)
  }
}

/** A broken new certificate must not take a running server down: the old one stays. */
const renewTls = (config: Config, service: Service, log: Log): void => {
  try {
    const tls = readTlsFiles(config)
    if (tls === undefined) return
    service.renewTls(tls)
    log.info({}, 'TLS certificates renewed')
  } catch {
    log.error({}, 'the new TLS certificates cannot be used; the old ones stay')
  }
}
