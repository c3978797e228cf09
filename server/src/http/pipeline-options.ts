import type { Log } from '../domain/log.ts'
import type { Vault } from '../operations/vault/vault.ts'
import type { ByteBudget } from '../scheduling/byte-budget.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import type { Cors } from './cors.ts'
import type { Idempotency } from './idempotency.ts'
import type { RateLimit } from './rate-limit.ts'

/** What the steps of a request work with. */
export type PipelineOptions = {
  readonly vault: Vault
  readonly log: Log
  readonly headerPrefix: string
  readonly scheduler: Scheduler
  readonly memory: ByteBudget
  /** To be called for each request that is refused because there is too much to do. */
  readonly noteRefusal: () => void
  readonly idempotency: Idempotency
  readonly rateLimit: RateLimit
  readonly cors: Cors
}
