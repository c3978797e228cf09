import type { AddressInfo } from 'node:net'
import type { KeyProvider } from './crypto/key-provider.ts'
import type { Instant } from './domain/instant.ts'
import { limits } from './domain/limits.ts'
import type { Log } from './domain/log.ts'
import { buildServer } from './http/server.ts'
import { type Clockwork, clockwork } from './jobs/clockwork.ts'
import { upkeep } from './jobs/upkeep.ts'
import { openVault } from './operations/open-vault.ts'
import type { Vault } from './operations/vault.ts'
import type { Store } from './store/port.ts'

export type Service = {
  readonly vault: Vault
  readonly clockwork: Clockwork
  /** Resolves with the address once requests are answered. */
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>
  /** Answers what is in flight, then lets go of storage. */
  close(): Promise<void>
}

/** Everything constructed once, from its parts. */
export const buildService = async (parts: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
  log: Log
  headerPrefix: string
}): Promise<Service> => {
  const vault = await openVault(parts)
  const work = clockwork(upkeep(vault, parts.log), { intervalMs: limits.sweepIntervalMs, log: parts.log })
  const app = buildServer({ vault, log: parts.log, headerPrefix: parts.headerPrefix })
  return {
    vault,
    clockwork: work,
    listen: async ({ host, port }) => {
      await app.listen({ host, port })
      const address = app.server.address() as AddressInfo
      return { host, port: address.port }
    },
    close: async () => {
      await app.close()
      await work.stop()
      await parts.store.close()
    },
  }
}
