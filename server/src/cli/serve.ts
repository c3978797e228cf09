import type { Command } from './command.ts'
import { configuredKeyProvider } from './edge.ts'
import { makeLog, runService } from './run-service.ts'
import { configuredStorage } from './storage.ts'
import { readTls } from './tls.ts'

/** C35: production. Starts only with an explicit key provider and storage, and prints no key. */
export const serve: Command = {
  name: 'serve',
  summary: 'Run the vault in production: explicit storage and key provider, no key is printed',
  run: async ({ config }) => {
    const storage = configuredStorage(config)
    const keyProvider = configuredKeyProvider(config)
    const tls = readTls(config)
    const store = await storage.open()
    const log = makeLog(config)
    await runService(
      config,
      { store, keyProvider, log, tls },
      { stopOn: ['SIGINT', 'SIGTERM'], ready: baseUrl => log.info({ url: baseUrl }, 'listening') },
    )
    return 0
  },
}
