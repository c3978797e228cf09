import { availableParallelism } from 'node:os'
import type { Config } from '../../config/config.ts'
import { readTracing } from '../../config/tracing-config.ts'
import { requireFreePort } from '../../http/shared-port.ts'
import { Telemetry } from '../../telemetry/telemetry.ts'
import { warnOfClocks } from '../clocks.ts'
import type { Run } from '../command.ts'
import { configuredKeyProvider } from '../key-providers/configured-key-provider.ts'
import { makeLog } from '../log.ts'
import { runService } from '../run-service.ts'
import { noteHangUps, stopSignal } from '../signals.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { openOrMake } from '../storage/with-vault.ts'
import { readTlsFiles } from '../tls.ts'
import { runWorkers } from '../workers/primary.ts'
import type { WorkerContext } from '../workers/worker.ts'

/** C35: production. Starts only with an explicit key provider and storage. Prints no key. */
export const serve: Run = async ({ config }) => {
  const count = config.workers ?? availableParallelism()
  if (count > 1) return runWorkers(config, count)
  await serveHere(config)
  return 0
}

/** Serves in this process, alone or as one of several workers. */
export const serveHere = async (config: Config, worker?: WorkerContext): Promise<void> => {
  const storage = configuredStorage(config)
  const keyProvider = configuredKeyProvider(config)
  const tls = readTlsFiles(config)
  const traces = readTracing(process.env)
  // In the same iteration as the read, so that no signal in between is lost.
  const hangUps = tls && noteHangUps()
  const telemetry = new Telemetry()
  const { store, isNew } = await openOrMake(storage, () => keyProvider, telemetry, worker)
  const log = makeLog(config, worker && { worker: worker.number })
  // So that nobody mistakes an empty vault for the one they meant.
  if (isNew) log.warn({ storage: storage.name }, 'there was no vault, and a new one was made')
  await runService(
    config,
    {
      store,
      keyProvider,
      log,
      tls,
      telemetry,
      traces,
      ...(worker && { shared: worker, address: worker.address }),
    },
    {
      stopped: worker?.stopped ?? (() => stopSignal(['SIGINT', 'SIGTERM'])),
      ...(hangUps && { hangUps }),
      prepare: async () => {
        if (worker?.isFirst && worker.address.isShared) await requireFreePort(worker.address)
      },
      ready: ({ url, port }, { vault }) => {
        if (worker === undefined) log.info({ url, storage: storage.name }, 'listening')
        else {
          log.debug({}, 'ready')
          if (config.metrics !== undefined) worker.tellCounts(telemetry)
          worker.announceReady(port)
        }
        // Checked once for all workers. Storage that does not answer is not a clock problem, and requests report it.
        if (worker === undefined || worker.number === 1) void warnOfClocks(vault, log).catch(() => {})
      },
    },
  )
}
