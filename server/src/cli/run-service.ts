import { readFileSync } from 'node:fs'
import type { TlsOptions } from 'node:tls'
import { pino } from 'pino'
import { type Config, ConfigError, type TlsFiles } from '../config.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import type { Log } from '../domain/log.ts'
import { buildService, type Service } from '../service.ts'
import type { Store } from '../store/port.ts'

export const makeLog = ({ logLevel }: Config): Log => {
  const logger = pino({ level: logLevel, base: null }, pino.destination({ dest: 2, sync: true }))
  return {
    isDebug: logger.isLevelEnabled('debug'),
    error: (fields, message) => logger.error(fields, message),
    info: (fields, message) => logger.info(fields, message),
    debug: (fields, message) => logger.debug(fields, message),
  }
}

/**
 * Runs until SIGTERM or SIGINT, then drains. SIGHUP reads the certificates again. `ready` is called once
 * requests are answered, with the base URL.
 */
export const runService = async (
  config: Config,
  parts: { store: Store; keyProvider: KeyProvider; log: Log },
  hooks: { prepare?: (service: Service) => Promise<void>; ready: (baseUrl: string) => void },
): Promise<void> => {
  const { log } = parts
  const tls = config.tls && readTls(config.tls)
  const service = await buildService({ ...parts, clock: Date.now, settings: config, ...(tls && { tls }) })
  const stopped = stopSignal()
  try {
    await hooks.prepare?.(service)
    const { port } = await service.listen(config)
    service.startClockwork()
    hooks.ready(baseUrl(config, port))
    const renew = (): void => renewTls(config, service, log)
    process.on('SIGHUP', renew)
    await stopped
    process.off('SIGHUP', renew)
    log.info({}, 'draining')
  } finally {
    await service.close(config.drainTimeoutMs)
  }
}

const baseUrl = ({ host, tls }: Config, port: number): string =>
  `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`

const readTls = ({ cert, key, clientCa }: TlsFiles): TlsOptions => {
  const read = (path: string): Buffer => {
    try {
      return readFileSync(path)
    } catch {
      throw new ConfigError(`the TLS file ${path} cannot be read`)
    }
  }
  return {
    cert: read(cert),
    key: read(key),
    minVersion: 'TLSv1.2',
    ...(clientCa !== undefined && { ca: read(clientCa), requestCert: true, rejectUnauthorized: true }),
  }
}

/** A broken new certificate must not take a running server down: the old one stays. */
const renewTls = (config: Config, service: Service, log: Log): void => {
  if (config.tls === undefined) return
  try {
    service.renewTls(readTls(config.tls))
    log.info({}, 'TLS certificates renewed')
  } catch {
    log.error({}, 'the new TLS certificates cannot be used; the old ones stay')
  }
}

const stopSignal = (): Promise<void> =>
  new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
