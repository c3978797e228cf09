import type { TlsOptions } from 'node:tls'
import type { Config } from './config/config.ts'
import { newUuid } from './crypto/uuid.ts'
import { limits } from './domain/limits.ts'
import type { Log } from './domain/log.ts'
import { pace } from './domain/pace.ts'
import { rateBuckets } from './domain/rate-buckets.ts'
import type { Instant } from './domain/time/instant.ts'
import { rateLimit } from './http/admission.ts'
import { cors } from './http/cors.ts'
import { idempotency, type KeysInFlight } from './http/idempotency.ts'
import { refusalLog } from './http/send-problem.ts'
import { type Address, buildServer } from './http/server.ts'
import { sourceOf } from './http/source-address.ts'
import { allOf, type JobTimer, jobTimer, runJobs } from './jobs/job-timer.ts'
import { leases } from './jobs/lease.ts'
import { proveLog } from './jobs/prove-log.ts'
import { frequentUpkeep, lastUpkeep, upkeep } from './jobs/upkeep.ts'
import type { KeyProvider } from './keys/key-provider.ts'
import { openVault } from './operations/vault/open-vault.ts'
import type { Vault } from './operations/vault/vault.ts'
import { ByteBudget } from './scheduling/byte-budget.ts'
import { Scheduler } from './scheduling/scheduler.ts'
import type { Anchor } from './store/anchor.ts'
import type { Store } from './store/port.ts'

export type Service = {
  readonly vault: Vault
  /** What bodies and answers hold, for tests and metrics. */
  readonly memory: Pick<ByteBudget, 'held'>
  /** The jobs of each minute; tests run them by hand. */
  readonly jobTimer: JobTimer
  /** Starts all jobs; what a pause left undone is caught up at once. */
  startJobs(): void
  /** Resolves with the address once requests are answered. A port that is shared may be listened on by others as well. */
  listen(address: Address): Promise<Address>
  /** New connections get these certificates; those that exist keep theirs. */
  renewTls(tls: TlsOptions): void
  /** Answers what is in flight, for at most the given time, then closes storage. */
  close(drainTimeoutMs: number): Promise<void>
}

/** How the service behaves, whatever storage and key provider it uses. */
export type ServiceSettings = Pick<
  Config,
  'headerPrefix' | 'idempotencyStrict' | 'corsOrigins' | 'rateLimit' | 'trustedProxies' | 'auditRetentionDays'
> & {
  /** Where checkpoints are kept out of reach of storage. */
  readonly auditAnchors: readonly Anchor[]
}

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
  /** The trees of the log grow on a thread. */
  growsOnThread?: boolean
}): Promise<Service> => {
  const { log, clock, settings, shared } = parts
  const { headerPrefix } = settings
  const scheduler = new Scheduler()
  const vault = await openVault({ ...parts, scheduler, anchors: settings.auditAnchors })
  await vault.anchoring.requireOurs()
  const ownLeases = leases(parts.store, { holder: newUuid(), lengthMs: pace.upkeepLeaseMs, clock })
  const work = allOf(
    Object.entries(upkeep(vault, log, ownLeases.on, settings)).map(([name, jobs]) =>
      jobTimer(jobs, { intervalMs: pace.sweepIntervalMs, log, lease: ownLeases.on(name) }),
    ),
  )
  const frequent = jobTimer(frequentUpkeep(vault), { intervalMs: pace.activityFlushIntervalMs, log })
  const proofLeases = leases(parts.store, { holder: newUuid(), lengthMs: pace.proveLeaseMs, clock })
  const proving = jobTimer([proveLog(vault, proofLeases.on('prove-log'))], {
    intervalMs: pace.proveIntervalMs,
    log,
  })
  const memory = new ByteBudget(Math.max(pace.bytesOnTheirWay, 8 * limits.bodyBytes))
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
    sourceOf: sourceOf(settings.trustedProxies),
    scheduler,
    noteRefusal: refusalLog(log),
    memory,
    ...(parts.tls && { tls: parts.tls }),
  })
  return {
    vault,
    memory,
    jobTimer: work,
    startJobs: () => {
      work.start()
      frequent.start()
      proving.start()
    },
    listen: app.listen,
    renewTls: app.renewTls,
    close: async drainTimeoutMs => {
      try {
        await app.close(drainTimeoutMs)
        await Promise.all([work.stop(), frequent.stop(), proving.stop()])
        // If storage does not answer, leases end by themselves.
        await Promise.all([ownLeases.releaseAll(), proofLeases.releaseAll()]).catch(() => undefined)
        // A job that fails is only logged, so storage that accepts nothing more does not keep the process from ending.
        await runJobs(lastUpkeep(vault), { log, signal: new AbortController().signal })
        await Promise.all([vault.anchoring.settled(), vault.evidence.close()])
      } finally {
        await parts.store.close()
      }
    },
  }
}
