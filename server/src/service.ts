import type { AddressInfo, Socket } from 'node:net'
import { type TlsOptions, Server as TlsServer } from 'node:tls'
import type { Config } from './config/config.ts'
import { newUuid } from './crypto/uuid.ts'
import type { Log } from './domain/log.ts'
import { pace } from './domain/pace.ts'
import { rateBuckets } from './domain/rate-buckets.ts'
import type { Instant } from './domain/time/instant.ts'
import { cors } from './http/cors.ts'
import { idempotency, type KeysInFlight } from './http/idempotency.ts'
import { loadShedding, watchLoop } from './http/load-shedding.ts'
import { loopTurns } from './http/loop-turns.ts'
import { pageRoom } from './http/page-room.ts'
import { rateLimit } from './http/rate-limit.ts'
import { buildServer } from './http/server.ts'
import { allOf, type Clockwork, clockwork, runJobs } from './jobs/clockwork.ts'
import { leases } from './jobs/lease.ts'
import { frequentUpkeep, lastUpkeep, upkeep } from './jobs/upkeep.ts'
import type { KeyProvider } from './keys/key-provider.ts'
import { openVault } from './operations/vault/open-vault.ts'
import type { Vault } from './operations/vault/vault.ts'
import type { Store } from './store/port.ts'

export type Service = {
  readonly vault: Vault
  /** The jobs of each minute; tests run them by hand. */
  readonly clockwork: Clockwork
  /** Starts all jobs; what a pause left undone is caught up at once. */
  startClockwork(): void
  /** Resolves with the address once requests are answered. A port that is shared may be listened on by others as well. */
  listen(address: Address): Promise<Address>
  /** New connections get these certificates; those that exist keep theirs. */
  renewTls(tls: TlsOptions): void
  /** Answers what is in flight, for at most the given time, then closes storage. */
  close(drainTimeoutMs: number): Promise<void>
}

export type Address = { readonly host: string; readonly port: number; readonly isShared?: boolean }

/** How the service behaves, whatever storage and key provider it uses. */
export type ServiceSettings = Pick<Config, 'headerPrefix' | 'idempotencyStrict' | 'corsOrigins' | 'rateLimit'>

/** What the workers of one machine, each its own process, share. */
export type SharedAcrossWorkers = {
  /** Takes one request out of a rate limit bucket: resolves with 0, or with the seconds to wait. */
  readonly takeShare: (name: string) => Promise<number>
  readonly inFlight: KeysInFlight
}

/** Constructs everything once, from its parts. */
export const buildService = async (parts: {
  store: Store
  keyProvider: KeyProvider
  clock: () => Instant
  log: Log
  settings: ServiceSettings
  tls?: TlsOptions
  shared?: SharedAcrossWorkers
}): Promise<Service> => {
  const { log, clock, settings, shared } = parts
  const { headerPrefix } = settings
  const shedding = loadShedding(log)
  const vault = await openVault(parts)
  const ownLeases = leases(parts.store, { holder: newUuid(), lengthMs: pace.upkeepLeaseMs, clock })
  const work = allOf(
    Object.entries(upkeep(vault, log, ownLeases.on)).map(([name, jobs]) =>
      clockwork(jobs, { intervalMs: pace.sweepIntervalMs, log, lease: ownLeases.on(name) }),
    ),
  )
  const frequent = clockwork(frequentUpkeep(vault), { intervalMs: pace.activityFlushIntervalMs, log })
  const app = buildServer({
    vault,
    log,
    headerPrefix,
    idempotency: idempotency(vault, {
      headerPrefix,
      strict: settings.idempotencyStrict,
      ...(shared && { inFlight: shared.inFlight }),
    }),
    rateLimit: rateLimit(settings.rateLimit && (shared?.takeShare ?? rateBuckets(settings.rateLimit, clock))),
    cors: cors(settings.corsOrigins, headerPrefix),
    shedding,
    loopTurns: loopTurns(),
    pageRoom: pageRoom(),
    ...(parts.tls && { tls: parts.tls }),
  })
  const unwatchLoop = watchLoop(shedding)
  // The server's own list leaves out connections that have not finished a TLS handshake.
  const connections = new Set<Socket>()
  let isTimeUp = false
  app.server.on('connection', (socket: Socket) => {
    // The server still accepts those that wait when it is told to stop, however little time it has.
    if (isTimeUp) {
      socket.destroy()
      return
    }
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return {
    vault,
    clockwork: work,
    startClockwork: () => {
      work.start()
      frequent.start()
    },
    listen: async ({ host, port, isShared = false }) => {
      const options = { host, port, reusePort: isShared, backlog: pace.connectionsWaiting }
      await app.listen(options)
      const address = app.server.address() as AddressInfo
      return { host, port: address.port, isShared }
    },
    renewTls: tls => {
      if (app.server instanceof TlsServer) app.server.setSecureContext(tls)
    },
    close: async drainTimeoutMs => {
      const cut = setTimeout(() => {
        isTimeUp = true
        for (const socket of connections) socket.destroy()
      }, drainTimeoutMs)
      try {
        await app.close()
        unwatchLoop()
        clearTimeout(cut)
        await Promise.all([work.stop(), frequent.stop()])
        // If storage does not answer, leases end by themselves.
        await ownLeases.releaseAll().catch(() => undefined)
        // A job that fails is only logged, so storage that accepts nothing more does not keep the process from ending.
        await runJobs(lastUpkeep(vault), { log, signal: new AbortController().signal })
      } finally {
        await parts.store.close()
      }
    },
  }
}
