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
import { RequestMeters } from './http/request-meters.ts'
import { refusalLog } from './http/send-problem.ts'
import { type Address, buildServer } from './http/server.ts'
import { sourceOf } from './http/source-address.ts'

import { deliverEvents } from './jobs/deliver-events.ts'
import { JobMeters } from './jobs/job-meters.ts'
import { allOf, type JobTimer, jobTimer, runJobs } from './jobs/job-timer.ts'
import { leases } from './jobs/lease.ts'
import { proveLog } from './jobs/prove-log.ts'
import { frequentUpkeep, lastUpkeep, upkeep } from './jobs/upkeep.ts'
import { vaultMeters } from './jobs/vault-meters.ts'
import type { KeyProvider } from './keys/key-provider.ts'
import { Deliverer } from './operations/delivering/deliverer.ts'
import { operatorAct } from './operations/log/acting.ts'
import { theOperator } from './operations/log/log-owner.ts'
import { openVault } from './operations/vault/open-vault.ts'
import type { Vault } from './operations/vault/vault.ts'
import { openOutbound } from './outbound/outbound.ts'
import type { OutboundSettings } from './outbound/outbound-rules.ts'
import { ByteBudget } from './scheduling/byte-budget.ts'
import { Scheduler } from './scheduling/scheduler.ts'
import type { Anchor } from './store/anchor.ts'
import type { Store } from './store/port.ts'
import { turnFamilies } from './telemetry/families.ts'
import { Telemetry } from './telemetry/telemetry.ts'
import type { Tracer } from './telemetry/traces.ts'

export type Service = {
  readonly vault: Vault
  /** What bodies and answers hold, for tests and metrics. */
  readonly memory: Pick<ByteBudget, 'held'>
  /** The jobs of each minute; tests run them by hand. */
  readonly jobTimer: JobTimer
  /** Delivers events to webhooks; tests run it by hand. */
  readonly delivering: JobTimer & Pick<Deliverer, 'settled'>
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
  /** What may be called when a tenant says so. */
  readonly outbound: OutboundSettings
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
  /** What is counted, for whoever shows it. */
  telemetry?: Telemetry
  tracer?: Tracer | undefined
}): Promise<Service> => {
  const { log, clock, settings, shared, telemetry = new Telemetry() } = parts
  const { headerPrefix } = settings
  const turns = telemetry.add(turnFamilies)
  const scheduler = new Scheduler({
    meters: { wait: turns.histogram('wait'), refused: turns.counter('refused') },
  })
  const vault = await openVault({
    ...parts,
    scheduler,
    anchors: settings.auditAnchors,
    destinationPorts: new Set(settings.outbound.ports),
    outbound: openOutbound(settings.outbound),
  })
  await vault.anchoring.requireOurs()
  const ownLeases = leases(parts.store, { holder: newUuid(), lengthMs: pace.upkeepLeaseMs, clock })
  const { proofs, takeStock } = vaultMeters(vault, telemetry)
  const byLease = upkeep(vault, log, ownLeases.on, settings)
  const frequentJobs = frequentUpkeep(vault)
  const proofLeases = leases(parts.store, { holder: newUuid(), lengthMs: pace.proveLeaseMs, clock })
  const prove = proveLog(vault, proofLeases.on('prove-log'), proofs)
  const deliverer = new Deliverer(vault)
  const deliveryLeases = leases(parts.store, { holder: newUuid(), lengthMs: pace.deliverLeaseMs, clock })
  const deliver = deliverEvents(deliverer, deliveryLeases.on('deliver-events'), clock)
  const jobs = [
    ...Object.values(byLease).flat(),
    ...frequentJobs,
    prove,
    takeStock,
    deliver,
    ...lastUpkeep(vault),
  ]
  const meters = new JobMeters(
    telemetry,
    jobs.map(({ name }) => name),
  )
  const work = allOf(
    Object.entries(byLease).map(([name, jobs]) =>
      jobTimer(jobs, { intervalMs: pace.sweepIntervalMs, log, meters, lease: ownLeases.on(name) }),
    ),
  )
  const frequent = jobTimer(frequentJobs, { intervalMs: pace.activityFlushIntervalMs, log, meters })
  const proving = jobTimer([prove], { intervalMs: pace.proveIntervalMs, log, meters })
  const stocktaking = jobTimer([takeStock], { intervalMs: pace.sweepIntervalMs, log, meters })
  const delivering = jobTimer([deliver], { intervalMs: pace.deliverIntervalMs, log, meters })
  const memory = new ByteBudget(Math.max(pace.bytesOnTheirWay, 8 * limits.bodyBytes))
  const requests = new RequestMeters(telemetry)
  const app = buildServer({
    vault,
    log,
    meters: requests,
    tracer: parts.tracer,
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
  const waitingTurns = turns.gauge('waiting')
  telemetry.beforeEach(() => {
    requests.connections.set(app.connections)
    requests.heldBytes.set(memory.held)
    waitingTurns.set(scheduler.state.waiting)
  })
  let hasStarted = false
  /** When there was a log, and when not. */
  const recordForOperator = (operation: string): void => {
    hasStarted = true
    vault.acts.note(theOperator, operatorAct({ operation, entityType: 'log' }))
  }
  return {
    vault,
    memory,
    jobTimer: work,
    delivering: { ...delivering, settled: () => deliverer.settled() },
    startJobs: () => {
      recordForOperator('server start')
      work.start()
      frequent.start()
      proving.start()
      stocktaking.start()
      delivering.start()
    },
    listen: app.listen,
    renewTls: app.renewTls,
    close: async drainTimeoutMs => {
      try {
        await app.close(drainTimeoutMs)
        if (hasStarted) recordForOperator('server stop')
        await Promise.all([
          work.stop(),
          frequent.stop(),
          proving.stop(),
          stocktaking.stop(),
          delivering.stop(),
        ])
        await deliverer.stop()
        // If storage does not answer, leases end by themselves.
        const allLeases = [ownLeases, proofLeases, deliveryLeases]
        await Promise.all(allLeases.map(each => each.releaseAll())).catch(() => undefined)
        // A job that fails is only logged, so storage that accepts nothing more does not keep the process from ending.
        await runJobs(lastUpkeep(vault), { log, meters, signal: new AbortController().signal })
        await Promise.all([vault.anchoring.settled(), vault.evidence.close()])
      } finally {
        vault.outbound.close()
        await parts.store.close()
      }
    },
  }
}
