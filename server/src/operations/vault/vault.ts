import type { TenantKeys, VaultKeys } from '../../crypto/keys.ts'
import type { Application } from '../../domain/access/application.ts'
import type { Tenant } from '../../domain/access/tenant.ts'
import type { Act, Actor } from '../../domain/acts/act.ts'
import type { Log } from '../../domain/log.ts'
import type { OutboundProxy } from '../../domain/proxies/proxy.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Room } from '../../scheduling/byte-budget.ts'
import type { Scheduler, Turns } from '../../scheduling/scheduler.ts'
import type { Store } from '../../store/port.ts'
import type { Trace } from '../../telemetry/traces.ts'
import type { ActLog } from '../log/act-log.ts'
import type { Anchoring } from '../log/evidence/anchoring.ts'
import type { Evidence } from '../log/evidence/evidence.ts'
import type { ActivityQueue } from './activity-queue.ts'
import type { KeyUses } from './key-uses.ts'
import type { RetryQueues } from './retry-queues.ts'
import type { TenantKeyring } from './tenant-keyring.ts'

/** What every operation works with. Built once, by `openVault`. */
export type Vault = {
  readonly store: Store
  readonly keyProvider: KeyProvider
  readonly vaultKeys: VaultKeys
  readonly keyring: TenantKeyring
  readonly callers: CallerCache<KnownCaller>
  readonly proxies: CallerCache<KnownProxy>
  /** Reads that do not count as monthly activity yet. */
  readonly activity: ActivityQueue
  readonly keyUses: KeyUses
  /** The one way into the log. */
  readonly acts: ActLog
  /** Trees and checkpoints over the log, and where they are anchored. */
  readonly evidence: Evidence
  readonly anchoring: Anchoring
  readonly retryQueues: RetryQueues
  readonly scheduler: Scheduler
  /** Ports that destinations may have besides 443 (U10). */
  readonly destinationPorts: ReadonlySet<number>
  /** The one door to other servers. */
  readonly outbound: Outbound
  readonly clock: () => Instant
  readonly log: Pick<Log, 'info' | 'error'>
}

/** A tenant with its unwrapped keys, which is all that reading and writing its rows takes. */
export type UnlockedTenant = {
  /** The tenant's number inside storage. */
  readonly tenantNumber: number
  readonly keys: TenantKeys
}

/** The API key that a call came with. */
export type CallerKey = { readonly id: string; readonly hash: Uint8Array; readonly expiresAt: Instant | null }

/** Who calls, as remembered from one request to the next. */
export type KnownCaller = UnlockedTenant & {
  readonly tenant: Tenant
  readonly application: Application
  /** Undefined for the operator at the command line, and for nobody else. */
  readonly apiKey: CallerKey | undefined
  /** As records name the caller. */
  readonly actor: Actor
}

/** A proxy that was found by its key, as remembered from one request to the next. */
export type KnownProxy = UnlockedTenant & {
  readonly tenant: Tenant
  readonly proxy: OutboundProxy
  /** Who calls where the request needs no API key: the proxy's application, with the key of the proxy in place of its own. */
  readonly lent: KnownCaller | undefined
}

/** Remembers callers by a hash of their key, in memory only. Any change of grants makes it forget all of them. */
export type CallerCache<Caller> = {
  get(name: string): Caller | undefined
  /**
   * The tenant of the key when it was last looked up, whatever has changed since. Use it only to choose the queue of a request.
   */
  lastTenant(name: string): number | undefined
  /** `asOf` is the epoch from before the caller was read. A caller that was read while grants changed is not remembered. */
  set(name: string, caller: Caller, asOf: number): void
  /**
   * `get` and `set` do this first. Without requests it must be called. Otherwise the keys of a deleted tenant stay in memory.
   */
  forgetIfChanged(): void
}

/** Who calls, and what the call acts with. */
export type Caller = KnownCaller & {
  /** Long work asks it for turns, so that other requests are answered in between. */
  readonly work: Turns
  /** The memory that the call holds. Absent for the operator at the command line, who does nothing that is large. */
  readonly memory?: Room
  /** What the call does, for the log. */
  readonly act: Act
  /** The same for a collector of traces, if the call is traced. */
  readonly trace?: Trace | undefined
  /** For requests that the call leads to (W3C Trace Context). */
  readonly traceparent?: string | undefined
}

export type Idempotent = { readonly hash: Uint8Array; readonly request: IdempotentRequest }

/** A request that must not happen twice (C33): what it asks for, and the client's key. */
export type IdempotentRequest = {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly body: Uint8Array
}
